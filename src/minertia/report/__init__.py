"""Results for people: tables, sentences and self-contained HTML pages."""
