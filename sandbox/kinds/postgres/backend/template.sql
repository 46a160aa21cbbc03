-- One database and two roles that are nobody special: `agent` owns what a task holds, `reader` looks at it afterwards.
CREATE ROLE agent LOGIN;
CREATE ROLE reader LOGIN BYPASSRLS;
GRANT pg_read_all_data TO reader;
ALTER DATABASE template0 IS_TEMPLATE false;
DROP DATABASE template0;
ALTER DATABASE template1 IS_TEMPLATE false;
ALTER DATABASE template1 RENAME TO task;
\connect task
DROP DATABASE postgres;
REVOKE ALL ON DATABASE task FROM PUBLIC;
GRANT CONNECT, CREATE, TEMPORARY ON DATABASE task TO agent;
GRANT CONNECT ON DATABASE task TO reader;
ALTER SCHEMA public OWNER TO agent;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
VACUUM FULL FREEZE;
CHECKPOINT;
