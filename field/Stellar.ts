// The script of stellar nodes: standalone networks, whose root account has all lumens. Its oracle is what the node says about the receivers,
// never what the service says.
import { Keypair, xdr } from "@stellar/stellar-sdk/base"
import { Effect, Schedule } from "effect"
import { createHash } from "node:crypto"
import type { Started } from "./Nodes.ts"
import * as Script from "./Script.ts"
import type { Sheet } from "./Sheet.ts"

/** Stroops of accounts that the script creates: 1,000 XLM, enough for the base reserve of a new network, which is 10 XLM. */
const funds = 10_000_000_000n

/** Stroops of a payment. */
const amount = 10_000_000n

interface Entries {
  readonly entries?: ReadonlyArray<{ readonly xdr: string }>
}

export const run = Effect.fnUntraced(function* (sheet: Sheet, started: Started) {
  const script = yield* Script.open
  const { call } = started
  const { passphrase } = (yield* call("getNetwork", {})) as { readonly passphrase: string }

  /** Stroops of an account, 0 if it does not exist. */
  const balance = Effect.fnUntraced(function* (address: string) {
    const accountId = Keypair.fromPublicKey(address).xdrPublicKey()
    const key = xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId })).toXdr("base64")
    const { entries = [] } = (yield* call("getLedgerEntries", { keys: [key] })) as Entries
    const [entry] = entries
    if (entry === undefined) return 0n
    const data = xdr.LedgerEntryData.fromXdr(entry.xdr, "base64")
    return data.type === "account" ? data.account.balance : 0n
  })

  yield* script.createNetwork({
    network_type: "stellar",
    name: "field",
    passphrase,
    rpc_urls: [started.url],
    average_blocktime_ms: 5000,
    is_testnet: true
  })
  const relayerOf = (signer?: object) =>
    script.createRelayer({ network: "field", network_type: "stellar", policies: { timeout_seconds: 30 } }, signer)
  const body = (...operations: ReadonlyArray<object>) => ({ network: "field", operations })
  const creation = (destination: string) => ({ type: "create_account", destination, starting_balance: String(funds) })

  // The key of the root account of a standalone network is the hash of the passphrase.
  const root = createHash("sha256").update(passphrase).digest("hex")
  const treasury = yield* relayerOf({ type: "plain", config: { key: root } })
  const relayer = yield* relayerOf()
  const receivers = Script.times(4, () => Keypair.random().publicKey())
  const [receiver = ""] = receivers
  const made = yield* script.send(treasury, body(...[relayer.address, ...receivers].map(creation)))
  yield* script.end(treasury, made)
  yield* balance(relayer.address).pipe(
    Effect.repeat({ until: (found) => found > 0n, schedule: Schedule.spaced("250 millis") })
  )

  const payment = (destination = receiver, stroops = amount) => ({
    type: "payment",
    destination,
    amount: String(stroops),
    asset: { type: "native" }
  })
  /** Runs `use`, and returns its text with how many payments a receiver got by it. */
  const counting = Effect.fnUntraced(function* (use: Script.InScope<string>, destination = receiver) {
    const before = yield* balance(destination)
    const text = yield* use
    return `${text}; ${((yield* balance(destination)) - before) / amount} received`
  })
  const payments = (count: number) =>
    script.sendAll(
      relayer,
      Script.times(count, () => body(payment()))
    )
  const ends = (sent: ReadonlyArray<Script.Shown>) => Effect.map(script.ends(relayer, sent), Script.counted)

  yield* sheet.check("a payment", "1 confirmed; 1 received", counting(Effect.flatMap(payments(1), ends)))
  yield* sheet.check(
    "20 payments at once, one account",
    "20 confirmed; 20 received",
    counting(Effect.flatMap(payments(20), ends))
  )
  yield* sheet.check(
    "a payment of 100 operations",
    "1 confirmed; 100 received",
    counting(
      Effect.gen(function* () {
        const sent = yield* script.send(relayer, body(...Script.times(100, () => payment())))
        return yield* ends([sent])
      })
    )
  )
  yield* sheet.check(
    "a payment of more than there is, and one behind it",
    "1 confirmed; 1 received, 0 of the first",
    counting(
      Effect.gen(function* () {
        const sent = yield* script.send(relayer, body(payment(receivers[1], funds * 10n)))
        const behind = yield* Effect.flatMap(payments(1), ends)
        yield* script.cancel(relayer, sent)
        yield* script.end(relayer, sent)
        return behind
      })
    ).pipe(
      Effect.flatMap((text) =>
        Effect.map(balance(receivers[1] ?? ""), (found) => `${text}, ${(found - funds) / amount} of the first`)
      )
    )
  )
  yield* sheet.check(
    "a cancel right after the send",
    "the receiver has what the status says",
    Effect.gen(function* () {
      const before = yield* balance(receiver)
      const [sent] = yield* payments(1)
      yield* script.cancel(relayer, sent ?? { id: "" })
      const row = yield* script.end(relayer, sent ?? { id: "" })
      const has = ((yield* balance(receiver)) - before) / amount
      const isTrue = has === (row.status === "confirmed" ? 1n : 0n)
      return isTrue ? "the receiver has what the status says" : `${Script.ended(row)}, and the receiver has ${has}`
    })
  )
  yield* sheet.check(
    "`kill -9` of the service and its database with 8 payments in flight",
    "8 confirmed; 8 received",
    counting(
      Effect.gen(function* () {
        const sent = yield* payments(8)
        yield* script.kill
        return yield* ends(sent)
      })
    )
  )
  yield* sheet.check(
    "five channels, and 20 payments at once",
    "20 confirmed; 20 received",
    counting(
      Effect.gen(function* () {
        yield* script.call(`relayers/${relayer.id}`, {
          method: "PATCH",
          body: { policies: { channels: { count: 5 } } }
        })
        return yield* Effect.flatMap(payments(20), ends)
      })
    )
  )
  yield* sheet.check(
    "a backup, three payments, the restore of the backup, and two more",
    "2 confirmed; 5 received",
    counting(
      Effect.gen(function* () {
        yield* script.backup
        yield* Effect.flatMap(payments(3), ends)
        yield* script.putBack
        return yield* Effect.flatMap(payments(2), ends)
      })
    )
  )
})
