// The tables of the ledger: lanes, transactions, their signed attempts, signatures that were given to callers, and sums for statistics.
import type { SqlClient } from "effect/sql"

type Sql = SqlClient.SqlClient

const lanes = (sql: Sql) => [
  // A lane is the sequences of one account on one chain, of any network: `next_nonce`, `chain_nonce` and `settled_nonce`. `chain` is such as
  // `evm:8453`, `address` in lower case. Every commit about a lane checks `epoch`, which each claim increments. `trusts_count`: an operator
  // said that the chain's count is right. `counters`: what the network remembers besides. A row with a parent is another account that the
  // parent's lane signs with: it is never claimed by itself, and only it is released. It stays then, because transactions name it.
  sql`
    CREATE TABLE lanes (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      chain text NOT NULL,
      address text NOT NULL,
      generation integer NOT NULL DEFAULT 0,
      genesis text,
      next_nonce bigint NOT NULL DEFAULT 0,
      chain_nonce bigint NOT NULL DEFAULT 0,
      chain_block bigint,
      chain_hash text,
      settled_nonce bigint NOT NULL DEFAULT 0,
      window_size integer NOT NULL CHECK (window_size >= 1),
      trusts_count boolean NOT NULL DEFAULT false,
      holder uuid,
      held_until timestamptz,
      epoch bigint NOT NULL DEFAULT 0,
      next_poll_at timestamptz NOT NULL DEFAULT now(),
      code text,
      code_since timestamptz,
      parent_id bigint CONSTRAINT lanes_parent_id_fkey REFERENCES lanes (id),
      counters json,
      released_at timestamptz,
      CONSTRAINT lanes_chain_address_key UNIQUE (chain, address),
      CONSTRAINT lanes_holder_check CHECK ((holder IS NULL) = (held_until IS NULL)),
      CONSTRAINT lanes_chain_block_check CHECK ((chain_block IS NULL) = (chain_hash IS NULL)),
      CONSTRAINT lanes_nonces_check CHECK (settled_nonce <= chain_nonce AND chain_nonce <= next_nonce),
      CONSTRAINT lanes_released_check CHECK (released_at IS NULL OR parent_id IS NOT NULL)
    )`,
  sql`CREATE INDEX lanes_parent_idx ON lanes (parent_id) WHERE parent_id IS NOT NULL`,
  // As `relayers_hint_idx`.
  sql`CREATE INDEX lanes_hint_idx ON lanes (substr(address, 48, 5)) WHERE starts_with(chain, 'stellar:')`,
  // Identifies the server, its timeline and the tables. If it differs, the ledger was put back from a copy.
  sql`
    CREATE TABLE ledger_mark (
      id boolean PRIMARY KEY DEFAULT true CHECK (id),
      mark text NOT NULL
    )`
]

const transactions = (sql: Sql) => [
  // `id` is on the wire, `number` orders. There is no foreign key to `relayers`, because the history outlives them: `relayer_number` is their
  // `seq`, which is never used again. `request` is the newest version, `body_hash` identifies the first. `fee`: smallest units that it can
  // cost, or has cost, if its API key has a limit of fees. Moments come from the clock of the process.
  //
  // `channel_id`: the account whose sequence is `nonce`. Null: that of the lane. `guest`: a foreign account whose bytes use no sequence of the
  // lane. `receipt`: of bytes that no attempt is. `identity`: two requests with the same one are the same bytes; it names its chain, and is null
  // when the row has ended without effect. `confirmed_by`: the providers that decided; null: as many as are required. `yields`: how often the
  // transaction gave up its nonce to those behind it, and `paid_before` what that cost. `clear_price`: what an operator lets a no-op pay.
  sql`
    CREATE TABLE transactions (
      id uuid PRIMARY KEY,
      number bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT transactions_number_key UNIQUE,
      relayer_id text NOT NULL,
      relayer_number bigint NOT NULL,
      lane_id bigint CONSTRAINT transactions_lane_id_fkey REFERENCES lanes (id),
      generation integer NOT NULL DEFAULT 0,
      origin text NOT NULL DEFAULT 'request',
      request json NOT NULL,
      request_version integer NOT NULL DEFAULT 1,
      body_hash text,
      intent text NOT NULL DEFAULT 'execute' CHECK (intent IN ('execute', 'cancel', 'expire', 'clear')),
      clear_code text,
      state text NOT NULL
        CHECK (state IN ('pending', 'signed', 'submitted', 'mined', 'confirmed', 'failed', 'canceled', 'expired')),
      code text,
      code_since timestamptz NOT NULL,
      figures json,
      priority smallint NOT NULL DEFAULT 0,
      nonce bigint,
      mined_attempt integer,
      restored boolean NOT NULL DEFAULT false,
      required_nonce bigint,
      external_id text,
      api_key_id text,
      request_id text,
      trace text,
      valid_until timestamptz NOT NULL,
      not_before timestamptz,
      requeues smallint NOT NULL DEFAULT 0,
      fee numeric(78),
      created_at timestamptz NOT NULL,
      sent_at timestamptz,
      mined_at timestamptz,
      final_at timestamptz,
      version bigint NOT NULL DEFAULT 1,
      channel_id bigint CONSTRAINT transactions_channel_id_fkey REFERENCES lanes (id),
      guest text,
      facts json,
      identity text,
      exclusive text,
      receipt json,
      confirmed_by smallint CHECK (confirmed_by >= 1),
      yields smallint CHECK (yields >= 0),
      paid_before numeric CHECK (paid_before >= 0),
      clear_price numeric CHECK (clear_price >= 0),
      CONSTRAINT transactions_pending_check CHECK (state <> 'pending' OR nonce IS NULL),
      CONSTRAINT transactions_lane_check CHECK (lane_id IS NULL OR nonce IS NOT NULL OR guest IS NOT NULL
        OR state IN ('pending', 'failed', 'canceled', 'expired') OR receipt IS NOT NULL),
      CONSTRAINT transactions_mined_check
        CHECK (state NOT IN ('mined', 'confirmed') OR mined_attempt IS NOT NULL OR receipt IS NOT NULL),
      CONSTRAINT transactions_final_check
        CHECK ((final_at IS NOT NULL) = (state IN ('confirmed', 'failed', 'canceled', 'expired')))
    )`,
  // A pending transaction has no sequence, and all queries of this index name one.
  sql`
    CREATE UNIQUE INDEX transactions_nonce_key ON transactions ((coalesce(channel_id, lane_id)), generation, nonce)
      WHERE nonce IS NOT NULL`,
  sql`CREATE UNIQUE INDEX transactions_identity_key ON transactions (generation, identity) WHERE identity IS NOT NULL`,
  sql`
    CREATE UNIQUE INDEX transactions_exclusive_key ON transactions (lane_id, exclusive)
      WHERE exclusive IS NOT NULL AND final_at IS NULL`,
  sql`
    CREATE UNIQUE INDEX transactions_external_id_key ON transactions (relayer_number, external_id)
      WHERE external_id IS NOT NULL`,
  // Over all relayers. A hash index is a fifth of the size of the unique one, and equality is all that is asked.
  sql`
    CREATE INDEX transactions_external_id_idx ON transactions USING hash (external_id) WHERE external_id IS NOT NULL`,
  sql`CREATE INDEX transactions_pending_idx ON transactions (lane_id, priority DESC, number) WHERE state = 'pending'`,
  sql`CREATE INDEX transactions_open_idx ON transactions (lane_id, nonce) WHERE state IN ('signed', 'submitted', 'mined')`,
  // Those in flight that a caller has canceled or replaced. `ClaimsRepo.news` has the same conditions.
  sql`
    CREATE INDEX transactions_commands_idx ON transactions (lane_id)
      WHERE state IN ('signed', 'submitted') AND (intent = 'cancel' OR request_version > 1)`,
  sql`CREATE INDEX transactions_channels_idx ON transactions (lane_id, final_at) WHERE origin = 'channel'`,
  // The service's own restores of archived entries for a call.
  sql`CREATE INDEX transactions_restores_idx ON transactions (lane_id) WHERE origin = 'restore'`,
  // The newest first of one relayer. Only these two have the order of `-number`: in that of `number`, the planner would walk all newer
  // transactions of other relayers if this one has many.
  sql`CREATE INDEX transactions_relayer_idx ON transactions (relayer_number, (-number))`,
  sql`CREATE INDEX transactions_state_idx ON transactions (relayer_number, state, (-number))`,
  sql`CREATE INDEX transactions_final_idx ON transactions (final_at) WHERE final_at IS NOT NULL`,
  sql`CREATE INDEX transactions_fee_idx ON transactions (api_key_id, final_at) WHERE fee IS NOT NULL`,
  // How the newest prebuilt transactions of an API key ended on their chain. Only they have an identity, and they keep it when their bytes
  // were applied.
  sql`
    CREATE INDEX transactions_landed_by_key_idx ON transactions (api_key_id, final_at DESC)
      WHERE identity IS NOT NULL AND mined_attempt IS NOT NULL AND final_at IS NOT NULL`,
  // A disabled relayer is checked at once when a transaction of it is confirmed or need not wait for funds any more: its account has funds. A
  // check that is locked or claimed runs at this moment. It is skipped, so that the lane waits for nothing.
  sql`
    CREATE FUNCTION relayer_checks_funded() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE relayer_checks SET next_check_at = now() WHERE relayer_id IN (
        SELECT c.relayer_id FROM relayer_checks c
        JOIN relayers r ON r.id = c.relayer_id AND r.seq = NEW.relayer_number AND r.system_disabled
        WHERE c.relayer_id = NEW.relayer_id AND c.claimed_by IS NULL AND c.next_check_at > now()
        FOR UPDATE OF c SKIP LOCKED
      );
      RETURN NULL;
    END
    $$`,
  sql`
    CREATE TRIGGER relayer_checks_funded AFTER UPDATE OF state, code ON transactions FOR EACH ROW
    WHEN (
      (NEW.state = 'confirmed' AND OLD.state <> 'confirmed')
      OR (OLD.code = 'insufficient_funds' AND NEW.code IS DISTINCT FROM OLD.code)
    )
    EXECUTE FUNCTION relayer_checks_funded()`,
  // Versions of a request that newer ones replaced.
  sql`
    CREATE TABLE transaction_requests (
      transaction_id uuid NOT NULL
        CONSTRAINT transaction_requests_transaction_id_fkey REFERENCES transactions (id) ON DELETE CASCADE,
      version integer NOT NULL,
      request json NOT NULL,
      PRIMARY KEY (transaction_id, version)
    )`
]

const attempts = (sql: Sql) => [
  // Signed bytes, which anybody can broadcast. Their nonce is committed together with them. `offer` has all that an attempt offers, as its
  // network reads it. `account`: null for the account of the lane.
  sql`
    CREATE TABLE attempts (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      transaction_id uuid NOT NULL
        CONSTRAINT attempts_transaction_id_fkey REFERENCES transactions (id) ON DELETE CASCADE,
      ordinal integer NOT NULL,
      kind text NOT NULL CHECK (kind IN ('original', 'bump', 'replace', 'noop', 'refresh')),
      generation integer NOT NULL DEFAULT 0,
      request_version integer NOT NULL,
      hash text NOT NULL,
      raw bytea NOT NULL,
      nonce bigint,
      offer json NOT NULL,
      last_valid bigint,
      epoch bigint NOT NULL,
      signed_at timestamptz NOT NULL,
      sends integer NOT NULL DEFAULT 0,
      first_sent_at timestamptz,
      first_sent_block bigint,
      last_sent_at timestamptz,
      outcome text NOT NULL DEFAULT 'unknown' CHECK (outcome IN ('unknown', 'accepted', 'refused')),
      refusal json,
      receipt json,
      account text,
      CONSTRAINT attempts_ordinal_key UNIQUE (transaction_id, ordinal),
      CONSTRAINT attempts_first_sent_check CHECK ((first_sent_at IS NULL) = (first_sent_block IS NULL))
    )`,
  // A small index: one with the whole hash and the id of the transaction changed another one of its many pages with each insertion, which the
  // write-ahead log then has as a whole after a checkpoint.
  sql`CREATE INDEX attempts_hash_idx ON attempts USING hash (hash)`,
  // Equal bytes of solana execute once, so two transactions with one signature would both be reported as executed. Only its signatures are
  // longer than 66 characters: 87 or 88. A fork of an evm chain can have the hash of an attempt of another chain.
  sql`CREATE UNIQUE INDEX attempts_signature_key ON attempts (hash) WHERE length(hash) > 66`,
  // The inner envelope of a fee bump is public after it was sent.
  sql`
    CREATE INDEX attempts_inner_hash_idx ON attempts ((offer ->> 'innerHash')) WHERE (offer ->> 'innerHash') IS NOT NULL`
]

const given = (sql: Sql) => [
  // Signatures that the service gives to callers and does not send itself. Anybody can send `raw`, until `valid_until` or until the chain has
  // passed the height `last_height`. `fee` is in the smallest unit, `outflow` what the bytes take from the balance besides. `identity` is as in
  // `transactions`; `offer` as in `attempts`, so that a transaction with the same bytes can take it over. `sequence`: the one that they use; null on
  // networks that order nothing by sequences. There is no foreign key to `relayers`, because the rows outlive them.
  sql`
    CREATE TABLE signatures_given (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      relayer_number bigint NOT NULL,
      key_id text NOT NULL,
      chain text NOT NULL,
      address text NOT NULL,
      generation integer NOT NULL,
      identity text,
      hash text NOT NULL,
      raw bytea NOT NULL,
      fee numeric(78) NOT NULL,
      valid_until timestamptz,
      last_height bigint,
      created_at timestamptz NOT NULL,
      offer jsonb,
      outflow numeric NOT NULL DEFAULT 0 CHECK (outflow >= 0),
      sequence numeric CHECK (sequence >= 0),
      CONSTRAINT signatures_given_end_check CHECK (num_nonnulls(valid_until, last_height) = 1)
    )`,
  sql`
    CREATE UNIQUE INDEX signatures_given_identity_key ON signatures_given (generation, identity) WHERE identity IS NOT NULL`,
  sql`CREATE INDEX signatures_given_lane_idx ON signatures_given (chain, address)`,
  sql`CREATE INDEX signatures_given_key_id_idx ON signatures_given (key_id, created_at)`,
  sql`CREATE INDEX signatures_given_hash_idx ON signatures_given USING hash (hash)`,
  sql`CREATE INDEX signatures_given_created_at_idx ON signatures_given (created_at)`,
  // Calls that were built for users, who pay for them in a token. `hash` is that of the envelope without its sequence, which the service
  // chooses when it signs. No foreign key: a row ends after minutes, also that of a relayer that was deleted.
  sql`
    CREATE TABLE sponsored_builds (
      hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
      relayer_number bigint NOT NULL,
      expires_at timestamptz NOT NULL,
      facts jsonb NOT NULL
    )`,
  sql`CREATE INDEX sponsored_builds_expires_at_idx ON sponsored_builds (expires_at)`
]

const sums = (sql: Sql) => [
  // Transactions that became final in the quarter of an hour that begins `at`. `relayer_number` 0: of all relayers; every quarter that was
  // summed has this row. `buckets` and `counts`: how many confirmed ones took how long (`SumsRepo`). No foreign key: a sum outlives its relayer.
  sql`
    CREATE TABLE transaction_sums (
      relayer_number bigint NOT NULL,
      at timestamptz NOT NULL,
      confirmed integer NOT NULL,
      failed integer NOT NULL,
      canceled integer NOT NULL,
      expired integer NOT NULL,
      buckets smallint[] NOT NULL,
      counts integer[] NOT NULL CHECK (cardinality(counts) = cardinality(buckets)),
      PRIMARY KEY (relayer_number, at)
    )`,
  sql`CREATE INDEX transaction_sums_at_idx ON transaction_sums (at)`
]

/** A trigger of transactions needs the tables of relayers. */
export const ledger = (sql: Sql) => [lanes, transactions, attempts, given, sums].flatMap((part) => part(sql))
