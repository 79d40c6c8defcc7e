// The codes of section 5 of the design that no trace ends with: a lane reaches each, and explains it.
import { Effect } from "effect"
import { assert } from "@effect/vitest"
import type { SolanaPolicy } from "../../../../src/domain/relayer/Policy.ts"
import { isFinal } from "../../../../src/networks/core/Transaction.ts"
import { memoProgram, tokenProgram } from "../../../../src/networks/solana/rules/Programs.ts"
import type { SolanaRequest } from "../../../../src/networks/solana/rules/Solana.ts"
import { base64Of } from "../../../../src/networks/solana/rules/SolanaExchanges.ts"
import { solanaRules } from "../../../../src/networks/solana/rules/SolanaRules.ts"
import { messageBytes, transactionBytes } from "../../../../src/networks/solana/rules/Wire.ts"
import type { LaneLedger } from "../../../../src/server/ledger/LaneLedger.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { lookupTable } from "../../../../testkit/solana/Accounts.ts"
import * as Tokens from "../../../../testkit/solana/Tokens.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import * as Paying from "../requests/Paying.ts"
import { changing, prebuilt, tokensOf, withTokens } from "./Ends.ts"
import * as World from "./World.ts"

const { memo, receiver } = World

type World = Effect.Success<ReturnType<typeof World.make>>

interface Reached {
  readonly policies?: SolanaPolicy
  readonly providers?: number
  readonly request?: (world: World) => SolanaRequest
  readonly over?: typeof prebuilt
  /** Changes the cluster and its nodes before the first step. */
  readonly prepare?: (world: World) => void
  /** Runs after the transaction was accepted. Absent: three steps of the lane. */
  readonly run?: (world: World) => Effect.Effect<void, unknown, LaneLedger>
  readonly explained: RegExp
}

const failing = () => ({ error: { code: -32_005, message: "does not answer" } })

const onAll = (world: World, method: string, lie: Parameters<World["nodes"][number]["lies"]["set"]>[1]) => {
  for (const { lies } of world.nodes) lies.set(method, lie)
}

const tables = [receiver]

/** A message of version 0 whose table loads the account with this index. */
const withTable = (world: World, index: number): SolanaRequest => {
  const message = messageBytes({
    version: 0,
    signers: 1,
    readonlySigners: 0,
    readonlyOthers: 1,
    keys: [world.address, memoProgram],
    blockhash: world.cluster.blocks.at(-2)?.blockhash ?? "",
    instructions: [{ program: 1, accounts: [], data: Buffer.from("table") }],
    tables: [{ table: receiver, writable: [], readonly: [index] }]
  })
  return { transaction: base64Of(transactionBytes([undefined], message)) }
}

const codes: Readonly<Record<string, Reached>> = {
  providers_unavailable: {
    run: (world) =>
      Effect.gen(function* () {
        world.cluster.swallows = true
        yield* world.poll()
        for (const node of world.nodes) node.isAway = true
        yield* world.poll(2)
      }),
    explained: /No RPC provider gives the answers that a decision needs; http:\/\/node-0\.example.*: no answer/u
  },
  priority_fee_above_cap: {
    policies: { max_allowed_fee_lamports: 4999n },
    explained: /The transaction's lowest fee is 5000 lamports, and it may cost 4999 lamports/u
  },
  blockhash_unavailable: {
    providers: 2,
    prepare: (world) =>
      onAll(world, "getLatestBlockhash", () => {
        const { blockhash, height, slot } = world.cluster.blocks.at(-2) ?? assert.fail("no block")
        return { result: { context: { slot }, value: { blockhash, lastValidBlockHeight: height + 50 } } }
      }),
    explained: /No two providers agree about a recent blockhash/u
  },
  lookup_table_unavailable: {
    request: () => ({ ...memo("table"), address_lookup_tables: tables }),
    prepare: (world) => onAll(world, "getMultipleAccounts", failing),
    explained: /lookup table that it names cannot be read/u
  },
  lookup_table_unresolved: {
    request: () => ({ ...memo("table"), address_lookup_tables: tables }),
    explained: /A lookup table does not exist/u
  },
  fee_payer_in_lookup_table: {
    request: (world) => withTable(world, 0),
    over: prebuilt,
    prepare: (world) => {
      world.cluster.put({ [receiver]: lookupTable([world.address]) })
      world.cluster.produce(2)
    },
    explained: /A lookup table loads the relayer/u
  },
  account_disallowed: {
    policies: { disallowed_accounts: [Paying.user] },
    request: (world) => withTable(world, 0),
    over: prebuilt,
    prepare: (world) => {
      world.cluster.put({ [receiver]: lookupTable([Paying.user]) })
      world.cluster.produce(2)
    },
    explained: /an account that the relayer's policy forbids/u
  },
  account_unavailable: {
    request: tokensOf,
    prepare: (world) => {
      withTokens(world)
      onAll(world, "getMultipleAccounts", failing)
    },
    explained: /A token account that it spends from cannot be read/u
  },
  would_fail: {
    request: () => ({ instructions: [{ program_id: receiver, accounts: [], data: "" }] }),
    explained: /The transaction's simulation fails: .*ProgramAccountNotFound/u
  },
  lamports_out: {
    prepare: (world) => changing(world, world.address, (account) => ({ ...account, lamports: account.lamports - 1n })),
    explained: /takes more lamports from the relayer than it declares/u
  },
  fee_payer_changed: {
    prepare: (world) => changing(world, world.address, (account) => ({ ...account, owner: tokenProgram })),
    explained: /changes the owner or the data of the relayer's account/u
  },
  authority_changed: {
    request: tokensOf,
    prepare: (world) => {
      withTokens(world)
      changing(world, Paying.accountOf(world.address), (account) => ({
        ...account,
        data: Tokens.holding({ mint: Paying.mint, owner: receiver, amount: 1n }).data
      }))
    },
    explained: /changes who controls a token account of the relayer/u
  },
  insufficient_funds: {
    request: (world) => World.transfer(world.address, 10n * World.sol),
    explained: /The transaction needs 10000005000 lamports. The account has 10000000000 lamports available/u
  },
  failed_on_chain: {
    run: (world) =>
      Effect.gen(function* () {
        yield* world.poll(1, 0)
        const { run } = world.cluster
        world.cluster.run = (accounts, transaction) => ({
          ...run(accounts, transaction),
          error: { InstructionError: [0, { Custom: 1 }] }
        })
        yield* world.finish
      }),
    explained: /The transaction failed in slot \d+. Its fee was charged/u
  },
  refused_by_all: {
    prepare: (world) => onAll(world, "sendTransaction", () => ({ error: { code: -32_602, message: "invalid" } })),
    run: (world) => world.finish,
    explained: /Every node that was asked refused its bytes/u
  },
  attempts_exhausted: {
    providers: 2,
    prepare: (world) => {
      world.cluster.swallows = true
    },
    // 200 blocks a step: the blockhash has expired, and the block of its end is finalized.
    run: (world) => world.poll(25, 200),
    explained: /None of its 20 signed versions landed/u
  }
}

layerEach(memory)("the code", (it) => {
  for (const [code, { explained, over, policies, prepare, providers, request, run }] of Object.entries(codes)) {
    it.effect(`${code} is reached by a lane, and explained`, () =>
      Effect.gen(function* () {
        const world = yield* World.make({
          ...(policies === undefined ? {} : { policies }),
          ...(providers === undefined ? {} : { providers })
        })
        prepare?.(world)
        const [id] = yield* world.accept(request?.(world) ?? memo(code), 1, over)
        yield* run?.(world) ?? world.poll(3)
        const transaction = yield* world.transaction(id)
        const why = transaction.cause ?? assert.fail("no code")
        assert.strictEqual(
          why.code,
          code,
          JSON.stringify(why.figures, (_, value) => String(value))
        )
        const { next, reason } = solanaRules.explain(why, isFinal(transaction))
        assert.match(reason, explained)
        assert.isNotEmpty(next)
      })
    )
  }
})
