-- Rows that other programs put into the tables are found as ours are: the outbox is written by the
-- tables themselves, in the transaction of each change, whoever makes it. A trigger deletes and
-- inserts where one statement would do: the caller's OR IGNORE would hold for that one too.

CREATE TRIGGER wb_message_added AFTER INSERT ON wb_message BEGIN
    SELECT RAISE(ABORT, 'an id of memory is printable ASCII')
    WHERE new.id IS NULL OR new.id = '' OR new.id GLOB '*[^!-~]*';
    SELECT RAISE(ABORT, 'a time of memory reads 2026-11-23T10:00:00.000000Z')
    WHERE new.created_at NOT GLOB '????-??-??T??:??:??.[0-9][0-9][0-9][0-9][0-9][0-9]Z'
        OR strftime('%Y-%m-%dT%H:%M:%S', substr(new.created_at, 1, 19))
            IS NOT substr(new.created_at, 1, 19);
    DELETE FROM wb_outbox
    WHERE user_id = new.user_id AND kind = 'message' AND ref_id = new.id;
    INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase)
    VALUES (new.user_id, 'message', new.id, 0, 0);
END;

CREATE TRIGGER wb_message_altered AFTER UPDATE ON wb_message BEGIN
    DELETE FROM wb_outbox
    WHERE user_id = old.user_id AND kind = 'message' AND ref_id = old.id;
    INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase)
    VALUES (old.user_id, 'message', old.id, 1, 1);
    DELETE FROM wb_outbox
    WHERE user_id = new.user_id AND kind = 'message' AND ref_id = new.id;
    INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase)
    VALUES (new.user_id, 'message', new.id, 0, 0);
END;

CREATE TRIGGER wb_message_deleted AFTER DELETE ON wb_message BEGIN
    DELETE FROM wb_outbox
    WHERE user_id = old.user_id AND kind = 'message' AND ref_id = old.id;
    INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase)
    VALUES (old.user_id, 'message', old.id, 1, 1);
END;

CREATE TRIGGER wb_journal_added AFTER INSERT ON wb_journal BEGIN
    SELECT RAISE(ABORT, 'an id of memory is printable ASCII')
    WHERE new.id IS NULL OR new.id = '' OR new.id GLOB '*[^!-~]*';
    SELECT RAISE(ABORT, 'a time of memory reads 2026-11-23T10:00:00.000000Z')
    WHERE new.created_at NOT GLOB '????-??-??T??:??:??.[0-9][0-9][0-9][0-9][0-9][0-9]Z'
        OR strftime('%Y-%m-%dT%H:%M:%S', substr(new.created_at, 1, 19))
            IS NOT substr(new.created_at, 1, 19);
    DELETE FROM wb_outbox
    WHERE user_id = new.user_id AND kind = 'journal' AND ref_id = new.id;
    INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase)
    VALUES (new.user_id, 'journal', new.id, 0, 0);
END;

CREATE TRIGGER wb_journal_altered AFTER UPDATE ON wb_journal BEGIN
    DELETE FROM wb_outbox
    WHERE user_id = old.user_id AND kind = 'journal' AND ref_id = old.id;
    INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase)
    VALUES (old.user_id, 'journal', old.id, 1, 1);
    DELETE FROM wb_outbox
    WHERE user_id = new.user_id AND kind = 'journal' AND ref_id = new.id;
    INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase)
    VALUES (new.user_id, 'journal', new.id, 0, 0);
END;

CREATE TRIGGER wb_journal_deleted AFTER DELETE ON wb_journal BEGIN
    DELETE FROM wb_outbox
    WHERE user_id = old.user_id AND kind = 'journal' AND ref_id = old.id;
    INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase)
    VALUES (old.user_id, 'journal', old.id, 1, 1);
END;

CREATE TRIGGER wb_todo_added AFTER INSERT ON wb_todo BEGIN
    SELECT RAISE(ABORT, 'an id of memory is printable ASCII')
    WHERE new.id IS NULL OR new.id = '' OR new.id GLOB '*[^!-~]*';
    SELECT RAISE(ABORT, 'a time of memory reads 2026-11-23T10:00:00.000000Z')
    WHERE new.created_at NOT GLOB '????-??-??T??:??:??.[0-9][0-9][0-9][0-9][0-9][0-9]Z'
        OR strftime('%Y-%m-%dT%H:%M:%S', substr(new.created_at, 1, 19))
            IS NOT substr(new.created_at, 1, 19);
    DELETE FROM wb_outbox
    WHERE user_id = new.user_id AND kind = 'todo' AND ref_id = new.id;
    INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase)
    VALUES (new.user_id, 'todo', new.id, 0, 0);
END;

CREATE TRIGGER wb_todo_altered AFTER UPDATE ON wb_todo BEGIN
    DELETE FROM wb_outbox
    WHERE user_id = old.user_id AND kind = 'todo' AND ref_id = old.id;
    INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase)
    VALUES (old.user_id, 'todo', old.id, 1, 1);
    DELETE FROM wb_outbox
    WHERE user_id = new.user_id AND kind = 'todo' AND ref_id = new.id;
    INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase)
    VALUES (new.user_id, 'todo', new.id, 0, 0);
END;

CREATE TRIGGER wb_todo_deleted AFTER DELETE ON wb_todo BEGIN
    DELETE FROM wb_outbox
    WHERE user_id = old.user_id AND kind = 'todo' AND ref_id = old.id;
    INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase)
    VALUES (old.user_id, 'todo', old.id, 1, 1);
END;

CREATE TRIGGER wb_gratitude_added AFTER INSERT ON wb_gratitude BEGIN
    SELECT RAISE(ABORT, 'an id of memory is printable ASCII')
    WHERE new.id IS NULL OR new.id = '' OR new.id GLOB '*[^!-~]*';
    SELECT RAISE(ABORT, 'a time of memory reads 2026-11-23T10:00:00.000000Z')
    WHERE new.created_at NOT GLOB '????-??-??T??:??:??.[0-9][0-9][0-9][0-9][0-9][0-9]Z'
        OR strftime('%Y-%m-%dT%H:%M:%S', substr(new.created_at, 1, 19))
            IS NOT substr(new.created_at, 1, 19);
    DELETE FROM wb_outbox
    WHERE user_id = new.user_id AND kind = 'gratitude' AND ref_id = new.id;
    INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase)
    VALUES (new.user_id, 'gratitude', new.id, 0, 0);
END;

CREATE TRIGGER wb_gratitude_altered AFTER UPDATE ON wb_gratitude BEGIN
    DELETE FROM wb_outbox
    WHERE user_id = old.user_id AND kind = 'gratitude' AND ref_id = old.id;
    INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase)
    VALUES (old.user_id, 'gratitude', old.id, 1, 1);
    DELETE FROM wb_outbox
    WHERE user_id = new.user_id AND kind = 'gratitude' AND ref_id = new.id;
    INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase)
    VALUES (new.user_id, 'gratitude', new.id, 0, 0);
END;

CREATE TRIGGER wb_gratitude_deleted AFTER DELETE ON wb_gratitude BEGIN
    DELETE FROM wb_outbox
    WHERE user_id = old.user_id AND kind = 'gratitude' AND ref_id = old.id;
    INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase)
    VALUES (old.user_id, 'gratitude', old.id, 1, 1);
END;

CREATE TRIGGER wb_preferences_added AFTER INSERT ON wb_preferences BEGIN
    SELECT RAISE(ABORT, 'a time of memory reads 2026-11-23T10:00:00.000000Z')
    WHERE new.created_at NOT GLOB '????-??-??T??:??:??.[0-9][0-9][0-9][0-9][0-9][0-9]Z'
        OR strftime('%Y-%m-%dT%H:%M:%S', substr(new.created_at, 1, 19))
            IS NOT substr(new.created_at, 1, 19);
    DELETE FROM wb_outbox
    WHERE user_id = new.user_id AND kind = 'preference' AND ref_id = 'preferences';
    INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase)
    VALUES (new.user_id, 'preference', 'preferences', 0, 0);
END;

CREATE TRIGGER wb_preferences_altered AFTER UPDATE ON wb_preferences BEGIN
    DELETE FROM wb_outbox
    WHERE user_id = old.user_id AND kind = 'preference' AND ref_id = 'preferences';
    INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase)
    VALUES (old.user_id, 'preference', 'preferences', 1, 1);
    DELETE FROM wb_outbox
    WHERE user_id = new.user_id AND kind = 'preference' AND ref_id = 'preferences';
    INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase)
    VALUES (new.user_id, 'preference', 'preferences', 0, 0);
END;

CREATE TRIGGER wb_preferences_deleted AFTER DELETE ON wb_preferences BEGIN
    DELETE FROM wb_outbox
    WHERE user_id = old.user_id AND kind = 'preference' AND ref_id = 'preferences';
    INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase)
    VALUES (old.user_id, 'preference', 'preferences', 1, 1);
END;

-- What is there without a line has one from now on.
INSERT OR REPLACE INTO wb_outbox (user_id, kind, ref_id)
SELECT user_id, kind, id FROM (
    SELECT user_id, 'message' AS kind, id AS id FROM wb_message
    UNION ALL
    SELECT user_id, 'journal' AS kind, id AS id FROM wb_journal
    UNION ALL
    SELECT user_id, 'todo' AS kind, id AS id FROM wb_todo
    UNION ALL
    SELECT user_id, 'gratitude' AS kind, id AS id FROM wb_gratitude
    UNION ALL
    SELECT user_id, 'preference' AS kind, 'preferences' AS id FROM wb_preferences
) AS mine
WHERE id <> '' AND id NOT GLOB '*[^!-~]*' AND NOT EXISTS (
    SELECT 1 FROM wb_outbox AS known WHERE known.user_id = mine.user_id
        AND known.kind = mine.kind AND known.ref_id = mine.id AND NOT known.gone
);
