-- One row per measurement on a node.
CREATE VIEW v_node_sample AS
SELECT s.node_sample_id, -- integer: number of the sample
       strftime('%Y-%m-%dT%H:%M:%fZ', s.begin_ns / 1e9, 'unixepoch') AS begin_time, -- text: begin of the time that the value is for, UTC
       strftime('%Y-%m-%dT%H:%M:%fZ', s.at_ns / 1e9, 'unixepoch') AS time, -- text: end of that time, UTC
       s.host, -- text: host, as the file calls it
       p.name AS place, -- text: node, gpu, interface, port, disk, process or thread
       s.device, -- text: PCI address, UUID or index of the GPU; name of the interface, port, disk, process or thread
       m.name AS metric, -- text: what was measured; its unit is part of the name
       s.value / CAST(s.divisor AS REAL) AS value, -- real: value of a gauge, increase of a counter; without a begin, the total so far
       s.begin_ns, -- integer ns: begin of the time that the value is for, since 1970
       s.at_ns, -- integer ns: end of that time
       s.error_ns / 1e3 AS error_us, -- real us: how far the times may be off, beyond the node's clock
       s.node_sample_id >> 32 AS file_id -- integer: file
FROM node_sample s
LEFT JOIN vocabulary p ON p.kind = 'node_place' AND p.number = s.place
LEFT JOIN vocabulary m ON m.kind = 'node_metric' AND m.number = s.metric;

-- One row per message of a node's kernel or driver.
CREATE VIEW v_node_event AS
SELECT e.node_event_id, -- integer: number of the message
       strftime('%Y-%m-%dT%H:%M:%fZ', e.at_ns / 1e9, 'unixepoch') AS time, -- text: time of the message, UTC
       e.host, -- text: host, as the file calls it
       p.name AS place, -- text: node, gpu, interface, port, disk, process or thread
       e.device, -- text: PCI address, UUID or index of the GPU; name of the interface, port, disk, process or thread
       c.name AS code, -- text: kind of message
       e.number, -- integer: number of an Xid
       e.pid, -- integer: process that it is about
       e.process, -- text: name of that process
       e.text, -- text: the message, up to 300 bytes; of a stack up to 1000
       e.at_ns, -- integer ns: time of the message, since 1970
       e.since_boot_ns, -- integer ns: time of the message on the kernel's clock
       e.error_ns / 1e3 AS error_us, -- real us: how far the time may be off, beyond the node's clock
       e.node_event_id >> 32 AS file_id, -- integer: file
       e.byte_offset -- integer bytes: byte offset in the unpacked file
FROM node_event e
LEFT JOIN vocabulary p ON p.kind = 'node_place' AND p.number = e.place
LEFT JOIN vocabulary c ON c.kind = 'node_event' AND c.number = e.code;

-- What a record says about a node once, or about one of its GPUs.
CREATE VIEW v_node_fact AS
SELECT n.node_fact_id, -- integer: number of the fact
       n.host, -- text: host, as the file calls it
       n.boot_id, -- text: boot of the host
       n.cores, -- integer: cores of the host
       n.memory_bytes, -- integer bytes: memory of the host
       n.monotonic_ns, -- integer ns: a moment on the kernel's clock
       n.realtime_ns, -- integer ns: the same moment since 1970
       n.gpu_index, -- integer: number of the GPU, as the driver counts
       n.gpu_bus_id, -- text: PCI address of the GPU
       n.gpu_uuid, -- text: UUID of the GPU
       n.gpu_name, -- text: name of the GPU
       n.node_fact_id >> 32 AS file_id -- integer: file
FROM node_fact n;
