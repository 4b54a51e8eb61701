BEGIN TRANSACTION;
CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
INSERT INTO "message" VALUES('msg_21b51ddd0001z3Zju434v7eVDG','ses_de4ae22a4ffei2eAK9rpIOTN1k',1795754679760,1795754681217,'{"role": "user", "time": {"created": 1795754679760}, "agent": "build", "model": {"providerID": "scripted", "modelID": "scripted"}, "summary": {"diffs": []}}');
INSERT INTO "message" VALUES('msg_21b51e31a001mWb9cOoWCzvYQ5','ses_de4ae22a4ffei2eAK9rpIOTN1k',1795754681114,1795754682152,'{"parentID": "msg_21b51ddd0001z3Zju434v7eVDG", "role": "assistant", "mode": "build", "agent": "build", "path": {"cwd": "/home/ann/shop", "root": "/"}, "cost": 0, "tokens": {"total": 2, "input": 1, "output": 1, "reasoning": 0, "cache": {"write": 0, "read": 0}}, "modelID": "scripted", "providerID": "scripted", "time": {"created": 1795754681114, "completed": 1795754682150}, "finish": "stop"}');
INSERT INTO "message" VALUES('msg_21b51f5ed001GYvU3m5N1VvKAE','ses_de4ae22a4ffei2eAK9rpIOTN1k',1795754685933,1795754688940,'{"role": "user", "time": {"created": 1795754685933}, "agent": "build", "model": {"providerID": "scripted", "modelID": "scripted"}, "summary": {"diffs": []}}');
INSERT INTO "message" VALUES('msg_21b51fc31001BA7g5KI1hK1M31','ses_de4ae22a4ffei2eAK9rpIOTN1k',1795754687537,1795754688881,'{"parentID": "msg_21b51f5ed001GYvU3m5N1VvKAE", "role": "assistant", "mode": "build", "agent": "build", "path": {"cwd": "/home/ann/shop", "root": "/"}, "cost": 0, "tokens": {"total": 2, "input": 1, "output": 1, "reasoning": 0, "cache": {"write": 0, "read": 0}}, "modelID": "scripted", "providerID": "scripted", "time": {"created": 1795754687537, "completed": 1795754688880}, "finish": "tool-calls"}');
INSERT INTO "message" VALUES('msg_21b52017b001p2OTQm4m3We2cP','ses_de4ae22a4ffei2eAK9rpIOTN1k',1795754688891,1795754689049,'{"parentID": "msg_21b51f5ed001GYvU3m5N1VvKAE", "role": "assistant", "mode": "build", "agent": "build", "path": {"cwd": "/home/ann/shop", "root": "/"}, "cost": 0, "tokens": {"total": 2, "input": 1, "output": 1, "reasoning": 0, "cache": {"write": 0, "read": 0}}, "modelID": "scripted", "providerID": "scripted", "time": {"created": 1795754688891, "completed": 1795754689048}, "finish": "stop"}');
INSERT INTO "message" VALUES('msg_21b520c2d001ZN0Twxv4xYWC6m','ses_de4adf3e0ffei4eMz079WKCZMG',1795754679760,1795754691632,'{"role": "user", "time": {"created": 1795754679760}, "agent": "build", "model": {"providerID": "scripted", "modelID": "scripted"}, "summary": {"diffs": []}}');
INSERT INTO "message" VALUES('msg_21b521041001W9QhW6mNNeespl','ses_de4adf3e0ffei4eMz079WKCZMG',1795754681114,1795754692675,'{"parentID": "msg_21b520c2d001ZN0Twxv4xYWC6m", "role": "assistant", "mode": "build", "agent": "build", "path": {"cwd": "/home/ann/shop", "root": "/"}, "cost": 0, "tokens": {"total": 2, "input": 1, "output": 1, "reasoning": 0, "cache": {"write": 0, "read": 0}}, "modelID": "scripted", "providerID": "scripted", "time": {"created": 1795754681114, "completed": 1795754682150}, "finish": "stop"}');
INSERT INTO "message" VALUES('msg_21b52104b001Bn3EXwR602A8V6','ses_de4adf3e0ffei4eMz079WKCZMG',1795754685933,1795754692684,'{"role": "user", "time": {"created": 1795754685933}, "agent": "build", "model": {"providerID": "scripted", "modelID": "scripted"}, "summary": {"diffs": []}}');
INSERT INTO "message" VALUES('msg_21b5210500010SzfrVin7blJNU','ses_de4adf3e0ffei4eMz079WKCZMG',1795754687537,1795754692689,'{"parentID": "msg_21b52104b001Bn3EXwR602A8V6", "role": "assistant", "mode": "build", "agent": "build", "path": {"cwd": "/home/ann/shop", "root": "/"}, "cost": 0, "tokens": {"total": 2, "input": 1, "output": 1, "reasoning": 0, "cache": {"write": 0, "read": 0}}, "modelID": "scripted", "providerID": "scripted", "time": {"created": 1795754687537, "completed": 1795754688880}, "finish": "tool-calls"}');
INSERT INTO "message" VALUES('msg_21b52105e001Z4M2ZXLAmkr6hN','ses_de4adf3e0ffei4eMz079WKCZMG',1795754688891,1795754692703,'{"parentID": "msg_21b52104b001Bn3EXwR602A8V6", "role": "assistant", "mode": "build", "agent": "build", "path": {"cwd": "/home/ann/shop", "root": "/"}, "cost": 0, "tokens": {"total": 2, "input": 1, "output": 1, "reasoning": 0, "cache": {"write": 0, "read": 0}}, "modelID": "scripted", "providerID": "scripted", "time": {"created": 1795754688891, "completed": 1795754689048}, "finish": "stop"}');
INSERT INTO "message" VALUES('msg_21b5210b7001clbEY8e1XQKH8q','ses_de4adf3e0ffei4eMz079WKCZMG',1795754692791,1795754692908,'{"role": "user", "time": {"created": 1795754692791}, "agent": "build", "model": {"providerID": "scripted", "modelID": "scripted"}, "summary": {"diffs": []}}');
INSERT INTO "message" VALUES('msg_21b5210d4001Q1X2boHYw5qgoI','ses_de4adf3e0ffei4eMz079WKCZMG',1795754692820,1795754693461,'{"parentID": "msg_21b5210b7001clbEY8e1XQKH8q", "role": "assistant", "mode": "build", "agent": "build", "path": {"cwd": "/home/ann/shop", "root": "/"}, "cost": 0, "tokens": {"total": 2, "input": 1, "output": 1, "reasoning": 0, "cache": {"write": 0, "read": 0}}, "modelID": "scripted", "providerID": "scripted", "time": {"created": 1795754692820, "completed": 1795754693460}, "finish": "stop"}');
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
        );
INSERT INTO "part" VALUES('prt_21b51ddd90011kyPcXxU8xHnks','msg_21b51ddd0001z3Zju434v7eVDG','ses_de4ae22a4ffei2eAK9rpIOTN1k',1795754681090,1795754681093,'{"type": "text", "text": "Where do we keep the walrus lists?"}');
INSERT INTO "part" VALUES('prt_21b51e6ea001eFcBiH8odOn7xQ','msg_21b51e31a001mWb9cOoWCzvYQ5','ses_de4ae22a4ffei2eAK9rpIOTN1k',1795754682090,1795754682110,'{"type": "step-start"}');
INSERT INTO "part" VALUES('prt_21b51e7040011myUfAC71vw9sG','msg_21b51e31a001mWb9cOoWCzvYQ5','ses_de4ae22a4ffei2eAK9rpIOTN1k',1795754682116,1795754682126,'{"type": "text", "text": "In the blue folder.", "time": {"start": 1795754682116, "end": 1795754682121}}');
INSERT INTO "part" VALUES('prt_21b51e715001eYMqLIx3N6LBBw','msg_21b51e31a001mWb9cOoWCzvYQ5','ses_de4ae22a4ffei2eAK9rpIOTN1k',1795754682133,1795754682136,'{"reason": "stop", "type": "step-finish", "tokens": {"total": 2, "input": 1, "output": 1, "reasoning": 0, "cache": {"write": 0, "read": 0}}, "cost": 0}');
INSERT INTO "part" VALUES('prt_21b51f5f4001TnjJ7WtH4ZabIf','msg_21b51f5ed001GYvU3m5N1VvKAE','ses_de4ae22a4ffei2eAK9rpIOTN1k',1795754687493,1795754687502,'{"type": "text", "text": "And the heron lists?"}');
INSERT INTO "part" VALUES('prt_21b51ff3f001mdKOgOywSEg0TM','msg_21b51fc31001BA7g5KI1hK1M31','ses_de4ae22a4ffei2eAK9rpIOTN1k',1795754688320,1795754688322,'{"type": "step-start"}');
INSERT INTO "part" VALUES('prt_21b51ff4e001ue0fsB7fLkl8Nz','msg_21b51fc31001BA7g5KI1hK1M31','ses_de4ae22a4ffei2eAK9rpIOTN1k',1795754688334,1795754688860,'{"type": "tool", "tool": "bash", "callID": "call_0", "state": {"status": "completed", "input": {"command": "ls", "description": "List"}, "output": "…", "metadata": {"output": "…", "exit": 0, "truncated": false}, "title": "ls", "time": {"start": 1795754688365, "end": 1795754688859}}}');
INSERT INTO "part" VALUES('prt_21b520163001aiwkCM43OwFQJw','msg_21b51fc31001BA7g5KI1hK1M31','ses_de4ae22a4ffei2eAK9rpIOTN1k',1795754688868,1795754688870,'{"reason": "tool-calls", "type": "step-finish", "tokens": {"total": 2, "input": 1, "output": 1, "reasoning": 0, "cache": {"write": 0, "read": 0}}, "cost": 0}');
INSERT INTO "part" VALUES('prt_21b5201f1001527qhBOK5MSzHG','msg_21b52017b001p2OTQm4m3We2cP','ses_de4ae22a4ffei2eAK9rpIOTN1k',1795754689009,1795754689016,'{"type": "step-start"}');
INSERT INTO "part" VALUES('prt_21b5201fd001KdDiEfqFbNom9F','msg_21b52017b001p2OTQm4m3We2cP','ses_de4ae22a4ffei2eAK9rpIOTN1k',1795754689021,1795754689032,'{"type": "text", "text": "In the green one.", "time": {"start": 1795754689021, "end": 1795754689031}}');
INSERT INTO "part" VALUES('prt_21b52020f0018T6atteeuPvEnD','msg_21b52017b001p2OTQm4m3We2cP','ses_de4ae22a4ffei2eAK9rpIOTN1k',1795754689039,1795754689041,'{"reason": "stop", "type": "step-finish", "tokens": {"total": 2, "input": 1, "output": 1, "reasoning": 0, "cache": {"write": 0, "read": 0}}, "cost": 0}');
INSERT INTO "part" VALUES('prt_21b52103d001yCscaqYDrQCGro','msg_21b520c2d001ZN0Twxv4xYWC6m','ses_de4adf3e0ffei4eMz079WKCZMG',1795754692669,1795754692671,'{"type": "text", "text": "Where do we keep the walrus lists?"}');
INSERT INTO "part" VALUES('prt_21b5210440014hQJTGbGrCl9kk','msg_21b521041001W9QhW6mNNeespl','ses_de4adf3e0ffei4eMz079WKCZMG',1795754692676,1795754692677,'{"type": "step-start"}');
INSERT INTO "part" VALUES('prt_21b521046001MdcSP1jEaRUwZy','msg_21b521041001W9QhW6mNNeespl','ses_de4adf3e0ffei4eMz079WKCZMG',1795754692678,1795754692679,'{"type": "text", "text": "In the blue folder.", "time": {"start": 1795754682116, "end": 1795754682121}}');
INSERT INTO "part" VALUES('prt_21b521048001pQ44t9Vqqc8LKy','msg_21b521041001W9QhW6mNNeespl','ses_de4adf3e0ffei4eMz079WKCZMG',1795754692680,1795754692681,'{"reason": "stop", "type": "step-finish", "tokens": {"total": 2, "input": 1, "output": 1, "reasoning": 0, "cache": {"write": 0, "read": 0}}, "cost": 0}');
INSERT INTO "part" VALUES('prt_21b52104e001i63JU87aDx6eQx','msg_21b52104b001Bn3EXwR602A8V6','ses_de4adf3e0ffei4eMz079WKCZMG',1795754692686,1795754692687,'{"type": "text", "text": "And the heron lists?"}');
INSERT INTO "part" VALUES('prt_21b521051001vOTO7RCn0Oz6vx','msg_21b5210500010SzfrVin7blJNU','ses_de4adf3e0ffei4eMz079WKCZMG',1795754692690,1795754692691,'{"type": "step-start"}');
INSERT INTO "part" VALUES('prt_21b5210540013CKN4pM8MbX2zi','msg_21b5210500010SzfrVin7blJNU','ses_de4adf3e0ffei4eMz079WKCZMG',1795754692692,1795754692694,'{"type": "tool", "tool": "bash", "callID": "call_0", "state": {"status": "completed", "input": {"command": "ls", "description": "List"}, "output": "…", "metadata": {"output": "…", "exit": 0, "truncated": false}, "title": "ls", "time": {"start": 1795754688365, "end": 1795754688859}}}');
INSERT INTO "part" VALUES('prt_21b52105b001aahnOzrzo11Vsv','msg_21b5210500010SzfrVin7blJNU','ses_de4adf3e0ffei4eMz079WKCZMG',1795754692699,1795754692700,'{"reason": "tool-calls", "type": "step-finish", "tokens": {"total": 2, "input": 1, "output": 1, "reasoning": 0, "cache": {"write": 0, "read": 0}}, "cost": 0}');
INSERT INTO "part" VALUES('prt_21b521060001zb60Im4r37FF6D','msg_21b52105e001Z4M2ZXLAmkr6hN','ses_de4adf3e0ffei4eMz079WKCZMG',1795754692704,1795754692735,'{"type": "step-start"}');
INSERT INTO "part" VALUES('prt_21b521080001kQrydR2eaWFKMv','msg_21b52105e001Z4M2ZXLAmkr6hN','ses_de4adf3e0ffei4eMz079WKCZMG',1795754692736,1795754692737,'{"type": "text", "text": "In the green one.", "time": {"start": 1795754689021, "end": 1795754689031}}');
INSERT INTO "part" VALUES('prt_21b521087001LUw34u0f1wFAey','msg_21b52105e001Z4M2ZXLAmkr6hN','ses_de4adf3e0ffei4eMz079WKCZMG',1795754692743,1795754692744,'{"reason": "stop", "type": "step-finish", "tokens": {"total": 2, "input": 1, "output": 1, "reasoning": 0, "cache": {"write": 0, "read": 0}}, "cost": 0}');
INSERT INTO "part" VALUES('prt_21b5210bd001pqFCF5pCa0xbm1','msg_21b5210b7001clbEY8e1XQKH8q','ses_de4adf3e0ffei4eMz079WKCZMG',1795754692801,1795754692802,'{"type": "text", "text": "Put the walrus lists away."}');
INSERT INTO "part" VALUES('prt_21b52132d001pB0hhNkmV5CUt3','msg_21b5210d4001Q1X2boHYw5qgoI','ses_de4adf3e0ffei4eMz079WKCZMG',1795754693422,1795754693423,'{"type": "step-start"}');
INSERT INTO "part" VALUES('prt_21b521335001akuKAtVVZbL5mS','msg_21b5210d4001Q1X2boHYw5qgoI','ses_de4adf3e0ffei4eMz079WKCZMG',1795754693429,1795754693446,'{"type": "text", "text": "They are in the cellar.", "time": {"start": 1795754693429, "end": 1795754693441}}');
INSERT INTO "part" VALUES('prt_21b52134b001S5ZFuVkHdL57gr','msg_21b5210d4001Q1X2boHYw5qgoI','ses_de4adf3e0ffei4eMz079WKCZMG',1795754693451,1795754693452,'{"reason": "stop", "type": "step-finish", "tokens": {"total": 2, "input": 1, "output": 1, "reasoning": 0, "cache": {"write": 0, "read": 0}}, "cost": 0}');
CREATE TABLE `session` (
          `id` text PRIMARY KEY,
          `project_id` text NOT NULL,
          `workspace_id` text,
          `parent_id` text,
          `slug` text NOT NULL,
          `directory` text NOT NULL,
          `path` text,
          `title` text NOT NULL,
          `version` text NOT NULL,
          `share_url` text,
          `summary_additions` integer,
          `summary_deletions` integer,
          `summary_files` integer,
          `summary_diffs` text,
          `metadata` text,
          `cost` real DEFAULT 0 NOT NULL,
          `tokens_input` integer DEFAULT 0 NOT NULL,
          `tokens_output` integer DEFAULT 0 NOT NULL,
          `tokens_reasoning` integer DEFAULT 0 NOT NULL,
          `tokens_cache_read` integer DEFAULT 0 NOT NULL,
          `tokens_cache_write` integer DEFAULT 0 NOT NULL,
          `revert` text,
          `permission` text,
          `agent` text,
          `model` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_compacting` integer,
          `time_archived` integer,
          CONSTRAINT `fk_session_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
        );
INSERT INTO "session" VALUES('ses_de4ae22a4ffei2eAK9rpIOTN1k','global',NULL,NULL,'gentle-star','/home/ann/shop','home/ann/shop','In the blue folder.','1.18.33',NULL,0,0,0,NULL,NULL,0.0,3,3,0,0,0,NULL,'[{"permission": "question", "pattern": "*", "action": "deny"}, {"permission": "plan_enter", "pattern": "*", "action": "deny"}, {"permission": "plan_exit", "pattern": "*", "action": "deny"}]','build','{"id": "scripted", "providerID": "scripted", "variant": "default"}',1795754679644,1795754689089,NULL,NULL);
INSERT INTO "session" VALUES('ses_de4adf3e0ffei4eMz079WKCZMG','global',NULL,NULL,'silent-moon','/home/ann/shop','home/ann/shop','…','1.18.33',NULL,0,0,0,NULL,NULL,0.0,4,4,0,0,0,NULL,NULL,'build','{"id": "scripted", "providerID": "scripted", "variant": "default"}',1795754691615,1795754693801,NULL,NULL);
CREATE TABLE `session_message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `type` text NOT NULL,
          `seq` integer NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_session_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
COMMIT;
