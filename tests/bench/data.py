"""The input of the benchmarks: created once with the simulator, and kept."""
import os
import shutil
import subprocess

DIALECTS = {"Chrome": "chrome-v7", "Inspector": "inspector-2.30-terse", "Inspector verbose": "inspector-2.30",
            "Kineto": "kineto"}
# For each rank a profile in which one of 140 events is an operation of NCCL, as in traces of real DDP jobs.
PROFILED = ["--shape", "ddp", "--per-node", "4", "--layers", "8", "--operators", "12", "--dialect", "kineto"]


def parse_size(text):
    units = {"k": 1000, "M": 1000**2, "G": 1000**3}
    return int(float(text[:-1]) * units[text[-1]]) if text[-1] in units else int(float(text))


class Data:
    def __init__(self, build, room):
        self.build, self.room = build, room
        os.makedirs(room, exist_ok=True)

    def folder(self, kind, size, files=8):
        """A folder with `size` bytes of traces of this kind."""
        path = os.path.join(self.room, f"{DIALECTS[kind]}-{size}-{files}")
        if not os.path.exists(path):
            shutil.rmtree(path + ".part", ignore_errors=True)
            os.makedirs(path + ".part")
            if kind == "Kineto":
                self.profile(path + ".part", size, files)
            else:
                subprocess.run([f"{self.build}/simulate", "--bulk", str(size), "--files", str(files), "--dialect",
                                DIALECTS[kind], "-o", path + ".part"], check=True)
            os.rename(path + ".part", path)
        return path

    def profile(self, path, size, files):
        """A simulated job whose traces have about `size` bytes. A short run determines the number of steps."""
        steps = 12
        for _ in range(2):
            shutil.rmtree(path)
            subprocess.run([f"{self.build}/simulate", *PROFILED, "--ranks", str(files), "--steps", str(steps), "-o", path],
                           check=True)
            os.remove(path + "/truth.json")
            steps = max(steps, round(steps * size / bytes_in(path)))

    def packed(self, kind, size):
        """The same data, compressed with gzip."""
        path = self.folder(kind, size) + "-gz"
        if not os.path.exists(path):
            shutil.rmtree(path + ".part", ignore_errors=True)
            shutil.copytree(self.folder(kind, size), path + ".part")
            subprocess.run(f"gzip {path}.part/*", shell=True, check=True)
            os.rename(path + ".part", path)
        return path

    def slice(self, kind, size, wanted):
        """The first `wanted` bytes of one file of the data, as complete lines and valid JSON."""
        folder = self.folder(kind, size)
        path = f"{folder}-first-{wanted}"
        if not os.path.exists(path):
            whole = os.path.join(folder, sorted(os.listdir(folder))[0])
            # In a shell, because memory that this process had used would count as that of its children. A file that was
            # not truncated has an end, which sed omits, too.
            end = "; echo '{}]'" if kind == "Chrome" else ""
            if kind == "Kineto":  # up to the last complete event
                subprocess.run(f"{{ head -c {wanted} {whole} | tac | sed -n '/^  }},$/,$p' | tac; echo '  {{}} ]}}'; }} > {path}.part",
                               shell=True, check=True)
            else:
                subprocess.run(f"{{ head -c {wanted} {whole} | sed '$d'{end}; }} > {path}.part", shell=True, check=True)
            os.rename(path + ".part", path)
        return path

    def job(self, name, arguments):
        """A folder with a simulated job."""
        path = os.path.join(self.room, name)
        if not os.path.exists(path):
            shutil.rmtree(path + ".part", ignore_errors=True)
            os.makedirs(path + ".part")
            subprocess.run([f"{self.build}/simulate", *arguments, "-o", path + ".part"], check=True)
            os.remove(path + ".part/truth.json")
            os.rename(path + ".part", path)
        return path


def bytes_in(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(path, name)) for name in os.listdir(path))
