// Creates the ledger of transactions: lanes, transactions, their older requests and their signed attempts.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // A lane is the nonces of one account on one chain; `chain` is such as `evm:8453`, `address` in lower case. Every commit about a
  // lane checks `epoch`, which each claim increments. `trusts_count`: an operator said that the chain's count is right.
  yield* sql`
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
      next_look_at timestamptz NOT NULL DEFAULT now(),
      code text,
      code_since timestamptz,
      CONSTRAINT lanes_chain_address_key UNIQUE (chain, address),
      CONSTRAINT lanes_holder_check CHECK ((holder IS NULL) = (held_until IS NULL)),
      CONSTRAINT lanes_chain_block_check CHECK ((chain_block IS NULL) = (chain_hash IS NULL)),
      CONSTRAINT lanes_nonces_check CHECK (settled_nonce <= chain_nonce AND chain_nonce <= next_nonce)
    )`

  // `id` is on the wire, `number` orders. There is no foreign key to `relayers`, because the history outlives them:
  // `relayer_number` is their `seq`, which is never used again. `request` is the newest version, `body_hash` identifies the first.
  // `fee`: wei that it can cost, or has cost, if its API key has a limit of fees. Moments come from the clock of the process.
  yield* sql`
    CREATE TABLE transactions (
      id uuid PRIMARY KEY,
      number bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT transactions_number_key UNIQUE,
      relayer_id text NOT NULL,
      relayer_number bigint NOT NULL,
      lane_id bigint CONSTRAINT transactions_lane_id_fkey REFERENCES lanes (id),
      generation integer NOT NULL DEFAULT 0,
      origin text NOT NULL DEFAULT 'request' CHECK (origin IN ('request', 'gap')),
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
      CONSTRAINT transactions_nonce_key UNIQUE (lane_id, generation, nonce),
      CONSTRAINT transactions_pending_check CHECK (state <> 'pending' OR nonce IS NULL),
      CONSTRAINT transactions_lane_check
        CHECK (lane_id IS NULL OR nonce IS NOT NULL OR state IN ('pending', 'failed', 'canceled', 'expired')),
      CONSTRAINT transactions_mined_check CHECK (state NOT IN ('mined', 'confirmed') OR mined_attempt IS NOT NULL),
      CONSTRAINT transactions_final_check
        CHECK ((final_at IS NOT NULL) = (state IN ('confirmed', 'failed', 'canceled', 'expired')))
    )`
  yield* sql`
    CREATE UNIQUE INDEX transactions_external_id_key ON transactions (relayer_number, external_id)
      WHERE external_id IS NOT NULL`
  yield* sql`
    CREATE INDEX transactions_pending_idx ON transactions (lane_id, priority DESC, number) WHERE state = 'pending'`
  yield* sql`
    CREATE INDEX transactions_open_idx ON transactions (lane_id, nonce) WHERE state IN ('signed', 'submitted', 'mined')`
  // The newest first of one relayer. Only these two have the order of `-number`: in that of `number`, the planner would walk
  // all newer transactions of other relayers if this one has many.
  yield* sql`CREATE INDEX transactions_relayer_idx ON transactions (relayer_number, (-number))`
  yield* sql`CREATE INDEX transactions_state_idx ON transactions (relayer_number, state, (-number))`
  yield* sql`CREATE INDEX transactions_final_idx ON transactions (final_at) WHERE final_at IS NOT NULL`
  yield* sql`CREATE INDEX transactions_fee_idx ON transactions (api_key_id, final_at) WHERE fee IS NOT NULL`

  // Versions of a request that newer ones replaced.
  yield* sql`
    CREATE TABLE transaction_requests (
      transaction_id uuid NOT NULL
        CONSTRAINT transaction_requests_transaction_id_fkey REFERENCES transactions (id) ON DELETE CASCADE,
      version integer NOT NULL,
      request json NOT NULL,
      PRIMARY KEY (transaction_id, version)
    )`

  // Signed bytes, which anybody can broadcast. Their nonce is committed together with them.
  yield* sql`
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
      fees json NOT NULL,
      gas_limit bigint,
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
      CONSTRAINT attempts_ordinal_key UNIQUE (transaction_id, ordinal),
      CONSTRAINT attempts_hash_key UNIQUE (hash, transaction_id),
      CONSTRAINT attempts_first_sent_check CHECK ((first_sent_at IS NULL) = (first_sent_block IS NULL))
    )`

  // Identifies the server, its timeline and the tables. If it differs, the ledger was put back from a copy.
  yield* sql`
    CREATE TABLE ledger_mark (
      id boolean PRIMARY KEY DEFAULT true CHECK (id),
      mark text NOT NULL
    )`
})
