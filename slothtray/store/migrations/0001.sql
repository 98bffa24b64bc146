-- The first schema. Times are seconds since the epoch, durations seconds; command, argv, env and cwd are ASCII JSON
-- (surrogateescape), so that any bytes survive.
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  state TEXT NOT NULL CHECK (state IN ('pending', 'running', 'done', 'failed', 'cancelled', 'held')),
  command TEXT NOT NULL,
  argv TEXT NOT NULL,
  cwd TEXT NOT NULL,
  env TEXT,
  umask INTEGER NOT NULL,
  dropped TEXT NOT NULL DEFAULT '[]',
  label TEXT,
  fingerprint INTEGER NOT NULL DEFAULT 0,
  priority INTEGER NOT NULL DEFAULT 0 CHECK (priority BETWEEN -20 AND 19),
  not_before REAL NOT NULL DEFAULT 0,
  -- What not_before becomes when the job that this one waits for is done.
  earliest REAL NOT NULL DEFAULT 0,
  backoff REAL,
  max_attempts INTEGER CHECK (max_attempts >= 1),
  max_runtime REAL CHECK (max_runtime > 0),
  once INTEGER NOT NULL DEFAULT 0,
  start_now INTEGER NOT NULL DEFAULT 0,
  after INTEGER,
  expires_at REAL,
  attempts INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  interruptions INTEGER NOT NULL DEFAULT 0,
  unstarted INTEGER NOT NULL DEFAULT 0,
  run TEXT,
  holder TEXT,
  machine TEXT,
  boot TEXT,
  lease_until REAL,
  cancel_requested INTEGER NOT NULL DEFAULT 0,
  exit_code INTEGER,
  signal INTEGER,
  message TEXT,
  reason TEXT,
  runtime REAL,
  seen INTEGER NOT NULL DEFAULT 1,
  created_at REAL NOT NULL,
  started_at REAL,
  finished_at REAL
);
-- The claim walks the priorities downwards and looks at one row in each: 0.01 ms at a thousand rows and at a million.
CREATE INDEX jobs_ready ON jobs (priority DESC, not_before, id) WHERE state = 'pending';
CREATE INDEX jobs_delayed ON jobs (not_before) WHERE state = 'pending' AND not_before > 0;
CREATE INDEX jobs_start_now ON jobs (id) WHERE state = 'pending' AND start_now = 1;
-- By when the backoff began: after the wall clock was set back it lies in the future, for all that were waiting then.
CREATE INDEX jobs_backoff ON jobs (not_before - backoff) WHERE state = 'pending' AND backoff IS NOT NULL;
CREATE INDEX jobs_after ON jobs (after) WHERE after IS NOT NULL;
CREATE INDEX jobs_expiring ON jobs (expires_at, id)
  WHERE state IN ('pending', 'held') AND expires_at IS NOT NULL AND started_at IS NULL;
CREATE INDEX jobs_running ON jobs (id) WHERE state = 'running';
CREATE INDEX jobs_held ON jobs (id) WHERE state = 'held';
-- The state first: the last ten cancelled of a million jobs are found without a look at the others.
CREATE INDEX jobs_finished ON jobs (state, finished_at, id) WHERE state IN ('done', 'failed', 'cancelled');
-- Earlier runs of the same command in the same folder, for "usually 12 min": a checksum, as a command may have 100 kB.
CREATE INDEX jobs_usual ON jobs (fingerprint, finished_at) WHERE state = 'done' AND runtime IS NOT NULL;
CREATE INDEX jobs_label ON jobs (label, state, finished_at, id) WHERE label IS NOT NULL;

-- How many jobs are in each state, and how many failures nobody has looked at ('unseen'). Kept by the triggers, as counting
-- takes 0.25 s at a million rows, and every step of the runner wants to know.
CREATE TABLE tally (what TEXT PRIMARY KEY, jobs INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO tally VALUES
  ('pending', 0), ('running', 0), ('done', 0), ('failed', 0), ('cancelled', 0), ('held', 0), ('unseen', 0);
CREATE TRIGGER jobs_added AFTER INSERT ON jobs BEGIN
  UPDATE tally SET jobs = jobs + 1 WHERE what = new.state OR (what = 'unseen' AND new.state = 'failed' AND new.seen = 0);
END;
CREATE TRIGGER jobs_changed AFTER UPDATE OF state, seen ON jobs WHEN old.state <> new.state OR old.seen <> new.seen BEGIN
  UPDATE tally SET jobs = jobs - 1 WHERE what = old.state OR (what = 'unseen' AND old.state = 'failed' AND old.seen = 0);
  UPDATE tally SET jobs = jobs + 1 WHERE what = new.state OR (what = 'unseen' AND new.state = 'failed' AND new.seen = 0);
END;
CREATE TRIGGER jobs_removed AFTER DELETE ON jobs BEGIN
  UPDATE tally SET jobs = jobs - 1 WHERE what = old.state OR (what = 'unseen' AND old.state = 'failed' AND old.seen = 0);
END;

CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  job INTEGER,
  at REAL NOT NULL,
  kind TEXT NOT NULL,
  detail TEXT NOT NULL DEFAULT ''
);
CREATE INDEX events_job ON events (job, id);

-- One row: the person's pause, and what the runner last said of itself.
CREATE TABLE queue (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  paused INTEGER NOT NULL DEFAULT 0,
  paused_at REAL,
  paused_until REAL,
  state TEXT NOT NULL DEFAULT 'idle',
  gate TEXT,
  reason TEXT,
  since REAL,
  until REAL,
  load_one REAL,
  load_own REAL,
  load_foreign REAL,
  load_ceiling REAL,
  own_awake REAL,
  own_boot TEXT,
  said_at REAL,
  remark TEXT
);
INSERT INTO queue (one) VALUES (1);

-- Each with the version of the program that made it: an older one can then say which one is needed.
CREATE TABLE migrations (version INTEGER PRIMARY KEY, at REAL NOT NULL, program TEXT NOT NULL DEFAULT '');
