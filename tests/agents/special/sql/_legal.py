"""Queries that people ask, with what they give, by dialect."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

__all__ = ["LEGAL", "meant"]

_SHARED: Final[list[tuple[str, Any]]] = [
    ("SELECT count(*) FROM customers", [(4,)]),
    ("select Name from customers where city = 'Oslo' order by name", [("Ada",), ("Cy",)]),
    ("SELECT c.name, o.total FROM customers c JOIN orders o ON o.customer_id = c.id WHERE o.state = 'open' ORDER BY 2",
     [("Bo", 20), ("Ada", 75)]),
    ("SELECT c.name FROM customers AS c LEFT JOIN orders AS o ON o.customer_id = c.id WHERE o.id IS NULL", [("Di",)]),
    ("SELECT city, COUNT(*) AS n FROM customers GROUP BY city HAVING COUNT(*) > 1", [("Oslo", 2)]),
    ("SELECT state, SUM(total) FROM orders GROUP BY state ORDER BY SUM(total) DESC",
     [("paid", 450.5), ("open", 95), ("void", 5.25)]),
    ("SELECT name, CASE WHEN city IS NULL THEN 'unknown' WHEN city = 'Oslo' THEN 'capital' ELSE 'other' END FROM"
     " customers ORDER BY id", [("Ada", "capital"), ("Bo", "other"), ("Cy", "capital"), ("Di", "unknown")]),
    ("WITH paid AS (SELECT * FROM orders WHERE state = 'paid'), best AS (SELECT customer_id, MAX(total) AS top FROM"
     " paid"
     " GROUP BY customer_id) SELECT c.name, b.top FROM best b JOIN customers c ON c.id = b.customer_id ORDER BY 2 DESC",
     [("Cy", 300), ("Ada", 100)]),
    ("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5) SELECT SUM(x) FROM n", [(15,)]),
    ("SELECT id, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY placed DESC) AS r FROM orders ORDER BY id",
     [(1, 3), (2, 2), (3, 1), (4, 2), (5, 1), (6, 1)]),
    ("SELECT id, SUM(total) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM orders ORDER BY id"
     " LIMIT 3",
     [(1, 100), (2, 150.5), (3, 70.5)]),
    ("SELECT id, LAG(id, 1) OVER w FROM orders WINDOW w AS (ORDER BY id) ORDER BY id DESC LIMIT 1 OFFSET 1", [(5, 4)]),
    ("SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE total > 90) ORDER BY 1",
     [("Ada",), ("Cy",)]),
    ("SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id)", [("Di",)]),
    ("SELECT city FROM customers WHERE city IS NOT NULL UNION SELECT name FROM customers WHERE id > 2 ORDER BY 1",
     [("Bergen",), ("Cy",), ("Di",), ("Oslo",)]),
    ("SELECT 1 AS x UNION ALL SELECT 2 ORDER BY x DESC", [(2,), (1,)]),
    ("SELECT UPPER(name) , LOWER(name), LENGTH(name), REPLACE(name, 'A', 'E'), COALESCE(city, '-') FROM customers"
     " WHERE name LIKE 'A%'", [("ADA", "ada", 3, "Eda", "Oslo")]),
    ("SELECT ROUND(AVG(total), 2), MIN(total), MAX(total) FROM orders -- all of them", [(91.79, 5.25, 300)]),
    ("SELECT DISTINCT customer_id FROM orders WHERE total BETWEEN 10 AND 60 AND state <> 'void' ORDER BY customer_id;",
     [(1,), (2,)]),
    ("SELECT customer_id, spent FROM big_spenders ORDER BY spent", [(1, 225.5), (3, 305.25)]),
    ("SELECT 'DROP TABLE customers; --' AS text, 'it''s' AS other", [("DROP TABLE customers; --", "it's")]),
    ("SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM orders GROUP BY customer_id) AS counted", [(3,)]),
    ("SELECT a.name, b.name FROM customers a CROSS JOIN customers b WHERE a.id < b.id AND a.city = b.city",
     [("Ada", "Cy")]),
]  # fmt: skip
_OF: Final[dict[str, list[tuple[str, Any]]]] = {
    "sqlite": [
        ("SELECT strftime('%Y-%m', placed) AS month, count(*) FROM orders GROUP BY 1 ORDER BY 1 LIMIT 2",
         [("2024-01", 1), ("2024-02", 2)]),
        ("SELECT date(joined, '+1 month', 'start of month') FROM customers WHERE id = 1", [("2023-02-01",)]),
        ("SELECT json_extract(extra, '$.age') FROM customers WHERE id = 1", [(36,)]),
        ("SELECT c.name, t.value FROM customers c, json_each(c.extra, '$.tags') t ORDER BY 1, 2",
         [("Ada", "old"), ("Ada", "vip"), ("Cy", "new")]),
        ("SELECT name, extra ->> 'age' FROM customers WHERE extra ->> 'age' > 50", [("Bo", 52)]),
        ("SELECT group_concat(name, ', ') FROM (SELECT name FROM customers ORDER BY name)", [("Ada, Bo, Cy, Di",)]),
        ("SELECT printf('%.1f', total) FROM orders WHERE id = 2", [("50.5",)]),
        ("SELECT iif(total > 60, 'big', 'small'), typeof(id) FROM orders WHERE id = 6", [("big", "integer")]),
        ("SELECT julianday('2024-03-01') - julianday('2024-02-28'), substr(name, 1, 1) || '.' FROM customers LIMIT 1",
         [(2.0, "A.")]),
        ("SELECT [name] FROM \"customers\" WHERE `city` GLOB 'Os*' LIMIT 1, 1", [("Cy",)]),
        ("SELECT count(*) FILTER (WHERE state = 'paid') FROM orders", [(3,)]),
        ("VALUES (1, 'a'), (2, 'b')", [(1, "a"), (2, "b")]),
    ],
    "postgres": [
        ("SELECT to_char(date_trunc('month', placed), 'YYYY-MM') AS m, count(*) FROM orders GROUP BY 1 ORDER BY 1"
         " LIMIT 2",
         [("2024-01", 1), ("2024-02", 2)]),
        ("SELECT (joined + INTERVAL '1 month')::date::text, EXTRACT(YEAR FROM joined)::int FROM customers WHERE id = 1",
         [("2023-02-15", 2023)]),
        ("SELECT extra ->> 'age' FROM customers WHERE extra @> '{\"tags\": [\"vip\"]}'", [("36",)]),
        ("SELECT name, t FROM customers, jsonb_array_elements_text(extra -> 'tags') AS t ORDER BY 1, 2",
         [("Ada", "old"), ("Ada", "vip"), ("Cy", "new")]),
        ("SELECT string_agg(name, ', ' ORDER BY name) FROM customers", [("Ada, Bo, Cy, Di",)]),
        ("SELECT $$it's$$, $t$a $$;$t$, E'it\\'s\\n', E'\\''", [("it's", "a $$;", "it's\n", "'")]),
        ("SELECT E'a\\'; DELETE FROM orders', E'\\x41\\u00e9\\103', U&'\\0027; x', E'a'\n'\\b'",
         [("a'; DELETE FROM orders", "AéC", "'; x", "a\b")]),
        ("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total) FROM orders", [(62.75,)]),
        ("SELECT DISTINCT ON (customer_id) customer_id, total FROM orders ORDER BY customer_id, total DESC",
         [(1, 100), (2, 20), (3, 300)]),
        ("SELECT name FROM customers WHERE name ~* '^[ab]' AND name ILIKE 'a%'", [("Ada",)]),
        ("SELECT d::date::text FROM generate_series('2024-01-30'::date, '2024-02-01', '1 day') AS d",
         [("2024-01-30",), ("2024-01-31",), ("2024-02-01",)]),
        ("SELECT count(*) FILTER (WHERE state = 'paid'), array_agg(id ORDER BY id DESC) FROM"
         " orders", [(3, [6, 5, 4, 3, 2, 1])]),
        ("SELECT lpad(id::text, 3, '0'), substring(name from 1 for 2), position('d' in name) FROM customers WHERE"
         " id = 1",
         [("001", "Ad", 2)]),
        ("SELECT state, count(*) FROM orders GROUP BY ROLLUP (state) ORDER BY state NULLS LAST",
         [("open", 2), ("paid", 3), ("void", 1), (None, 6)]),
        ("SELECT c.name, last.total FROM customers c, LATERAL (SELECT total FROM orders o WHERE o.customer_id ="
         " c.id ORDER"
         " BY placed DESC FETCH FIRST 1 ROWS ONLY) AS last ORDER BY 1", [("Ada", 75), ("Bo", 20), ("Cy", 5.25)]),
        ("(SELECT id FROM orders ORDER BY total DESC LIMIT 1) UNION ALL (SELECT 2) ORDER BY id", [(2,), (4,)]),
        ("SELECT \"name\" FROM public.customers WHERE (id, city) IN ((1, 'Oslo'))", [("Ada",)]),
        ("SELECT regexp_replace('a1b22', '\\d+', '#', 'g'), 'back\\slash'", [("a#b#", "back\\slash")]),
    ],
    "mysql": [
        ("SELECT DATE_FORMAT(placed, '%Y-%m') AS m, COUNT(*) FROM orders GROUP BY m ORDER BY m LIMIT 2",
         [("2024-01", 1), ("2024-02", 2)]),
        ("SELECT CAST(DATE_ADD(joined, INTERVAL 1 MONTH) AS CHAR), YEAR(joined) FROM customers WHERE id = 1",
         [("2023-02-15", 2023)]),
        ("SELECT JSON_EXTRACT(extra, '$.age') FROM customers WHERE JSON_CONTAINS(extra, '\"vip\"', '$.tags')",
         [("36",)]),
        ("SELECT GROUP_CONCAT(name ORDER BY name SEPARATOR ', ') FROM customers", [("Ada, Bo, Cy, Di",)]),
        ("SELECT IF(total > 60, 'big', 'small'), IFNULL(state, '-') FROM orders WHERE id = 6", [("big", "open")]),
        ("SELECT name FROM customers WHERE name REGEXP '^[ab]' AND name NOT RLIKE 'o$'", [("Ada",)]),
        ("SELECT TIMESTAMPDIFF(DAY, '2024-02-28', '2024-03-01'), DATEDIFF('2024-03-01', '2024-02-28')", [(2, 2)]),
        ("SELECT CONCAT_WS(' ', name, city), LEFT(name, 1), SUBSTRING_INDEX('a.b.c', '.', 2) FROM customers WHERE"
         " id = 2",
         [("Bo Bergen", "B", "a.b")]),
        ("SELECT state, COUNT(*) FROM orders GROUP BY state WITH ROLLUP",
         [("open", 2), ("paid", 3), ("void", 1), (None, 6)]),
        ("(SELECT id FROM orders ORDER BY total DESC LIMIT 1) UNION ALL (SELECT 2) ORDER BY id", [(2,), (4,)]),
        ("SELECT 7 DIV 2, 7 MOD 2, 1 <=> NULL, !0", [(3, 1, 0, 1)]),
        ("SELECT `name` FROM `shop`.`customers` WHERE city = \"Oslo\" LIMIT 1, 1", [("Cy",)]),
        ("SELECT 'a\\'; DELETE FROM orders; -- ', 'back\\\\slash'", [("a'; DELETE FROM orders; -- ", "back\\slash")]),
    ],
}  # fmt: skip

LEGAL: Final = {dialect: [*_SHARED, *own] for dialect, own in _OF.items()}


def meant(dialect: str) -> list[str]:
    """Queries of what a dialect can say, which have to give what they give without the guard."""
    beginning, *queries = (Path(__file__).parent / "meant" / f"{dialect}.sql").read_text("utf-8").splitlines()
    return [f"{beginning} {query}" for query in queries]
