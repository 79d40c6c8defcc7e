// The attacks of the design on the fee payer, over HTTP, by each of the ways in: send, batch, sign-transaction and JSON-RPC. The
// numbers are those of `docs/security/solana.md`. One table has all of them, so a test fails if one is missing.
// The cluster makes blocks by the clock of the machine.
import { Effect } from "effect"
import type { Scope } from "effect"
import { assert, describe, it as unit, layer } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { base64Of, bytesOf } from "../../../../src/networks/solana/rules/SolanaExchanges.ts"
import * as Wire from "../../../../src/networks/solana/rules/Wire.ts"
import type * as TestApi from "../../../../testkit/TestApi.ts"
import { lookupTable } from "../../../../testkit/solana/Accounts.ts"
import * as Attacks from "../../../../testkit/solana/Attacks.ts"
import { address as addressOf } from "../../../../testkit/solana/Messages.ts"
import * as RawAttacks from "../../../../testkit/solana/RawAttacks.ts"
import { makeKey } from "../../../server/transactions/Fixtures.ts"
import { memo, receiver, sol, transfer } from "../lane/World.ts"
import { attacked, signsAtOnce, takesInstructions, ways } from "./AttackWays.ts"
import type { Attacked, Way } from "./AttackWays.ts"
import * as OwnAttacks from "./OwnAttacks.ts"
import * as Paying from "./Paying.ts"
import { api, dataOf, memoOf, recent } from "./Relayers.ts"

type Needs = TestApi.TestApi | Scope.Scope

interface Attack {
  /** What the service does. It is the title of the test. */
  readonly says: string
  readonly policies?: object
  readonly blockMs?: number
  /** Prepares the attack, and gives what happens by a way in, and afterwards. */
  readonly begin: (relayer: Attacked) => Effect.Effect<
    {
      readonly by: (way: Way) => Effect.Effect<unknown, never, Needs>
      readonly after?: Effect.Effect<void, never, Needs>
    },
    never,
    Needs
  >
}

const lamportsOfWays = 10n * sol

/** Refused with 400 at once. */
const inBytes = (number: string): Attack => ({
  says: "in a prebuilt message is refused by every way in, and leaves nothing behind",
  begin: ({ address, cluster, isInvalid, isUntouched, version }) =>
    Effect.succeed({
      by: (way) =>
        Effect.forEach(
          RawAttacks.attacksIn(version).filter(({ name }) => RawAttacks.numbersOf(name).includes(number)),
          ({ code, raw }) => isInvalid(way, { transaction: raw(address, recent(cluster)) }, code)
        ),
      after: isUntouched
    })
})

const table = addressOf(70)

/** A memo that lists the entry with an index of the table. */
const loading = ({ address, cluster }: Attacked, index: number, text: string): string => {
  const message = Wire.buildMessage({ payer: address, instructions: memoOf(text), blockhash: recent(cluster) })
  const changed = {
    ...message,
    version: 0 as const,
    instructions: message.instructions.map((one) => ({ ...one, accounts: [message.keys.length] })),
    tables: [{ table, writable: [index], readonly: [] }]
  }
  return base64Of(Wire.transactionBytes([undefined], Wire.messageBytes(changed)))
}

/** `entry`: of a table with one address. */
const inTable = (code: string, addresses: (relayer: string) => string, entry = 0, policies: object = {}): Attack => ({
  says: "through a lookup table is refused by every way in when the table is read, without a signature",
  policies,
  begin: (relayer) => {
    relayer.cluster.put({ [table]: lookupTable([addresses(relayer.address)]) })
    relayer.cluster.produce(2)
    return Effect.succeed({
      // Bytes with a blockhash of its own for each way, because one lives for seconds on this cluster.
      by: (way) => relayer.endsUnsigned(way, { transaction: loading(relayer, entry, way) }, code),
      after: Effect.sync(relayer.isSpared)
    })
  }
})

const scopes = ["transactions:*", "transactions:sign", "rpc:call"]

/** Version 1 has no tables. */
const inTables: Readonly<Record<string, Attack>> = {
  "22": inTable("fee_payer_in_lookup_table", (relayer) => relayer),
  "23": inTable("lookup_table_unresolved", () => addressOf(3), 5),
  "24": inTable("account_disallowed", () => addressOf(3), 0, { disallowed_accounts: [addressOf(3)] })
}

const attacksIn = (version: RawAttacks.Version): Readonly<Record<string, Attack>> => ({
  ...Object.fromEntries(
    RawAttacks.attacksIn(version).flatMap(({ name }) =>
      RawAttacks.numbersOf(name).flatMap((number) => (number.startsWith("O") ? [] : [[number, inBytes(number)]]))
    )
  ),
  ...OwnAttacks.attacks,
  ...(version === 1 ? {} : inTables),
  ...sending
})

/** Attacks by sends that are accepted, or by what several of them do together. */
const sending: Readonly<Record<string, Attack>> = {
  "30": {
    says: "with transactions that fail on the chain costs no more than max_fee_per_day of the API key",
    begin: Effect.fnUntraced(function* ({ address, becomes, bytes: built, cluster, refuses, send }) {
      const { run } = cluster
      cluster.run = (accounts, transaction) => ({ ...run(accounts, transaction), error: "AccountNotFound" })
      const key = yield* makeKey(scopes, { transaction_limits: { solana: { max_fee_per_day: "9999" } } })
      const bytes = (text: string) => ({ transaction: built(memoOf(text)) })
      const { id } = dataOf(yield* send({ ...bytes("fails"), simulate: false }, { key }))
      assert.strictEqual((yield* becomes(id, "failed")).code, "failed_on_chain")
      cluster.run = run
      return {
        by: (way) => refuses(way, bytes(way), "max_fee_per_day", { key }),
        after: Effect.sync(() => assert.strictEqual(cluster.balanceOf(address), lamportsOfWays - 5000n))
      }
    })
  },

  "32": {
    says: "with the same bytes twice has one effect: every way in answers with the first transaction, or names it",
    begin: Effect.fnUntraced(function* ({ address, becomes, by, bytes, cluster, ids, refuses, send }) {
      const body = { transaction: bytes(memoOf("twice")) }
      const { id } = dataOf(yield* send(body))
      return {
        by: (way) =>
          signsAtOnce(way)
            ? refuses(way, body, `already_accepted: transaction ${id}`)
            : Effect.map(by(way, body), ({ isRefused, text }) => {
                assert.isFalse(isRefused, `${way}: ${text}`)
                assert.include(text, id, way)
              }),
        after: Effect.gen(function* () {
          yield* becomes(id, "confirmed")
          assert.deepStrictEqual([yield* ids, cluster.successes(address)], [[id], 1])
        })
      }
    })
  },

  "33": {
    says: "with equal instructions has an effect for each that is accepted, and their bytes have none of their own",
    blockMs: 100,
    begin: (relayer) => {
      const { accepts, address, asking, becomes, by, cluster, get, send } = relayer
      const isLanded = Effect.fnUntraced(function* (ids: ReadonlyArray<string>) {
        const landed = yield* Effect.forEach(ids, (id) => becomes(id, "confirmed"), { concurrency: "unbounded" })
        assert.lengthOf(new Set(landed.map(({ signature }) => signature)), ids.length)
      })
      return Effect.succeed({
        by: Effect.fnUntraced(function* (way) {
          const before = cluster.successes(address)
          const body = asking(memo(`equal by ${way}`))
          if (takesInstructions(way)) {
            const both = yield* Effect.all([accepts(way, body), by(way, body)], { concurrency: "unbounded" })
            assert.deepStrictEqual(
              both.map(({ isRefused }) => isRefused),
              [false, false]
            )
          }
          const { id } = dataOf(yield* send(body))
          const { transaction } = yield* becomes(id, "submitted")
          if (!takesInstructions(way)) {
            const { text } = yield* by(way, { transaction })
            assert.include(text, "already_accepted", way)
          }
          const { transaction: again } = yield* get(id)
          assert.strictEqual(again, transaction)
          yield* isLanded([id])
          assert.strictEqual(cluster.successes(address) - before, takesInstructions(way) ? 3 : 1)
        })
      })
    }
  },

  "35": {
    says: "that leaves less than the rent minimum is refused in a prebuilt message, and not signed as an own instruction",
    begin: ({ address, accepts, asking, becomes, call, cluster, isInvalid, isSpared, path, raw, waits }) => {
      const most = lamportsOfWays - 10_000n
      return Effect.succeed({
        by: Effect.fnUntraced(function* (way) {
          yield* isInvalid(way, { transaction: raw(Attacks.transfer(Number(most))) }, "fee_payer_in_instruction")
          if (!takesInstructions(way)) return
          const { accepted, text } = yield* accepts(way, asking(transfer(address, most)))
          assert.lengthOf(accepted, 1, text)
          for (const id of accepted) {
            yield* waits(id, "insufficient_funds")
            yield* call(`${path}/${id}`, { method: "DELETE" })
            yield* becomes(id, "canceled")
          }
        }),
        after: Effect.sync(() => {
          isSpared()
          assert.strictEqual(cluster.balanceOf(receiver), 0n)
        })
      })
    }
  },

  "36": {
    says: "that takes its payment back in the same transaction is refused by every way in, and leaves nothing behind",
    policies: Paying.policies,
    begin: ({ address, bytes, cluster, isInvalid, isUntouched }) => {
      Paying.prepare(cluster, address)
      const payment = Paying.payment({ relayer: address, amount: 5000n })
      const [user, mint, own] = payment.accounts
      const back = {
        ...payment,
        accounts: [own, mint, user, { address, isWritable: false, isSigner: true }].flatMap((one) => one ?? [])
      }
      const transaction = () => Paying.signedByUser(bytes([payment, back]))
      return Effect.succeed({
        by: (way) => isInvalid(way, { transaction: transaction() }, "fee_payer_in_instruction"),
        after: isUntouched
      })
    }
  },

  "37": {
    says: "with bytes of sign-transaction that are sent much later: their fee is reserved until then by every way in",
    blockMs: 400,
    // Between one and two fees above what must stay.
    policies: { min_balance: Number(lamportsOfWays - 7000n) },
    begin: Effect.fnUntraced(function* ({ address, accepts, becomes, bytes: built, call, cluster, path, post, waits }) {
      const bytes = (text: string) => ({ transaction: built(memoOf(text)) })
      const given = yield* post("/sign-transaction", bytes("later"))
      assert.strictEqual(given.status, 200, given.text)
      return {
        by: Effect.fnUntraced(function* (way) {
          if (way === "rpc signAndSendTransaction") return
          const { accepted, isRefused, text } = yield* accepts(way, bytes(way))
          assert.strictEqual(isRefused, signsAtOnce(way), `${way}: ${text}`)
          if (isRefused) assert.include(text, "insufficient_funds", way)
          for (const id of accepted) {
            yield* waits(id, "insufficient_funds")
            yield* call(`${path}/${id}`, { method: "DELETE" })
            yield* becomes(id, "canceled")
          }
        }),
        after: Effect.sync(() => {
          cluster.take(bytesOf(dataOf(given).transaction))
          cluster.produce(1)
          assert.strictEqual(cluster.successes(address), 1)
          assert.strictEqual(cluster.balanceOf(address), lamportsOfWays - 5000n)
        })
      }
    })
  }
}

layer(api, { excludeTestServices: true, concurrent: true })("an attack on the fee payer", (it) => {
  for (const version of RawAttacks.versions) {
    for (const [number, { says, policies, blockMs, begin }] of Object.entries(attacksIn(version))) {
      it.effect(`${number}${version === 1 ? " in version 1" : ""}, ${says}`, () =>
        Effect.gen(function* () {
          const { after, by } = yield* begin(yield* attacked(policies, blockMs, version))
          for (const way of ways) yield* by(way)
          if (after !== undefined) yield* after
        })
      )
    }
  }
})

/** `1–3, 7` has four numbers. */
const numbersIn = (text: string): ReadonlyArray<string> =>
  text.split(", ").flatMap((part) => {
    const [, letter = "", first, last = first] = /^(O?)(\d+)(?:–O?(\d+))?$/u.exec(part) ?? []
    if (first === undefined) return []
    return Array.from({ length: Number(last) - Number(first) + 1 }, (_, index) => `${letter}${Number(first) + index}`)
  })

const numbers = numbersIn("1–37, O1–O9")

describe("the attacks of the design", () => {
  unit("are all tried by every way in, in each version", () => {
    for (const version of RawAttacks.versions) {
      const tried = new Set(Object.keys(attacksIn(version)).map((key) => key.replace(/[a-z]$/u, "")))
      assert.deepStrictEqual([...tried].toSorted(), numbers.toSorted())
    }
    for (const way of ["send", "batch", "sign-transaction", "rpc"]) {
      assert.isTrue(
        ways.some((one) => one.startsWith(way)),
        way
      )
    }
  })

  unit("are all in docs/security/solana.md", () => {
    const documented = [...readFileSync("docs/security/solana.md", "utf8").matchAll(/^\| ([O\d][O\d–, ]*):/gmu)]
    assert.deepStrictEqual(documented.flatMap(([, text = ""]) => numbersIn(text)).toSorted(), numbers.toSorted())
  })
})
