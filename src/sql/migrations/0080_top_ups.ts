// Adds which relayers get top-ups from which, and the payments that were made for them.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

/** An instance of an earlier version would change policies without what follows from them here. */
export default Migration.make(
  "incompatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    // What the policy `top_up` of a relayer says, by numbers, with the accounts of both. `code` is what keeps the account from being topped
    // up although its balance is low; null: nothing does. `low_height`: the block at which the only provider has last shown a low balance.
    yield* sql`
      CREATE TABLE relayer_top_ups (
        relayer_number bigint PRIMARY KEY
          CONSTRAINT relayer_top_ups_relayer_number_fkey REFERENCES relayers (seq) ON DELETE CASCADE,
        from_number bigint NOT NULL CONSTRAINT relayer_top_ups_from_number_fkey REFERENCES relayers (seq),
        chain text NOT NULL,
        address text NOT NULL,
        from_address text NOT NULL,
        code text,
        code_since timestamptz,
        low_height bigint,
        CONSTRAINT relayer_top_ups_address_key UNIQUE (chain, address),
        CONSTRAINT relayer_top_ups_accounts_check CHECK (address <> from_address),
        CONSTRAINT relayer_top_ups_code_check CHECK ((code IS NULL) = (code_since IS NULL))
      )`
    yield* sql`CREATE INDEX relayer_top_ups_from_idx ON relayer_top_ups (from_number)`
    yield* sql`CREATE INDEX relayer_top_ups_held_idx ON relayer_top_ups (relayer_number) WHERE code IS NOT NULL`
    // Payments outlive relayers and transactions, because their amounts count for 24 hours. There is no foreign key to either. `outcome` of an
    // ended one: `paid`; `none`: it is proven that nothing was paid; `unknown`. `height`: of the block that contains it, in the generation
    // of the payer's lane. `kind`: on stellar, `create` makes the account.
    yield* sql`
      CREATE TABLE top_ups (
        relayer_number bigint NOT NULL,
        sequence integer NOT NULL CHECK (sequence >= 1),
        from_number bigint NOT NULL,
        transaction_id uuid NOT NULL CONSTRAINT top_ups_transaction_id_key UNIQUE,
        kind text NOT NULL CHECK (kind IN ('transfer', 'create')),
        amount numeric(78) NOT NULL CHECK (amount > 0),
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        ended_at timestamptz,
        outcome text CHECK (outcome IN ('paid', 'none', 'unknown')),
        height bigint,
        generation integer,
        CONSTRAINT top_ups_pkey PRIMARY KEY (relayer_number, sequence),
        CONSTRAINT top_ups_ended_check CHECK ((ended_at IS NULL) = (outcome IS NULL)),
        CONSTRAINT top_ups_height_check CHECK ((height IS NULL) = (generation IS NULL))
      )`
    yield* sql`CREATE UNIQUE INDEX top_ups_open_key ON top_ups (relayer_number) WHERE ended_at IS NULL`
    yield* sql`CREATE INDEX top_ups_from_idx ON top_ups (from_number, ended_at)`
    // When the tables were last found to be a copy. Null: never. Payments after the copy are not known.
    yield* sql`ALTER TABLE ledger_mark ADD COLUMN restored_at timestamptz`
  })
)
