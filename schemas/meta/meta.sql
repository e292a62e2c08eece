-- Facts about the store itself.

-- statement: fact
SELECT value FROM fact WHERE name = ?
-- statement: set_fact
INSERT OR REPLACE INTO fact (name, value) VALUES (?, ?)
-- statement: add_word
INSERT OR REPLACE INTO vocabulary (kind, number, name) VALUES (?, ?, ?)
-- statement: list_views
SELECT sql FROM main.sqlite_schema WHERE type = 'view'
-- statement: drop_view
-- The statement that drops one of the views; no row if none is left.
SELECT 'DROP VIEW "' || replace(name, '"', '""') || '"' FROM sqlite_schema WHERE type = 'view' LIMIT 1
