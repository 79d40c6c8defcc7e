// The script of stellar nodes: standalone networks, whose root account has all lumens. Its oracle is what the node says about the receivers,
// never what the service says.
import { Account, Asset, Keypair, Operation, TransactionBuilder, xdr } from "@stellar/stellar-sdk/base"
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { Effect, Schedule } from "effect"
import { createHash } from "node:crypto"
import type { Started } from "./Nodes.ts"
import * as Script from "./Script.ts"
import type { Sheet } from "./Sheet.ts"

/** XLM of accounts that the script creates, enough for the base reserve of a new network, which is 10 XLM. */
const funds = 1_000

/** Stroops of a payment. */
const amount = 10_000_000n

const stroopsPerXlm = 10_000_000n

/** Stroops: a relayer gets them if it can spend less than `below`. */
const topUp = { below: "100000000", to: "500000000", max_per_day: "5000000000" } as const

/** What an operation of the root account may cost, in stroops: ten times the base fee. */
const rootFee = "1000"

interface Entries {
  readonly entries?: ReadonlyArray<{ readonly xdr: string }>
}

interface Version {
  readonly captiveCoreVersion: string
  readonly protocolVersion: number
}

/** The node and its protocol, as it says itself. */
export const versionOf = ({ call }: Started) =>
  call("getVersionInfo", {}).pipe(
    Effect.map((answer) => {
      const { captiveCoreVersion, protocolVersion } = answer as Version
      return `${captiveCoreVersion}, protocol ${protocolVersion}`
    }),
    Effect.catchCause(() => Effect.succeed("a node that does not say its version"))
  )

interface Latest {
  readonly headerXdr: string
}

/** An amount in XLM with its decimals, as the SDK takes it. */
const xlm = (stroops: bigint) => `${stroops / stroopsPerXlm}.${String(stroops % stroopsPerXlm).padStart(7, "0")}`

export const run = Effect.fnUntraced(function* (sheet: Sheet, started: Started) {
  const script = yield* Script.open
  const { call } = started
  const { passphrase } = (yield* call("getNetwork", {})) as { readonly passphrase: string }

  const entryOf = Effect.fnUntraced(function* (address: string) {
    const accountId = Keypair.fromPublicKey(address).xdrPublicKey()
    const key = xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId })).toXdr("base64")
    const { entries = [] } = (yield* call("getLedgerEntries", { keys: [key] })) as Entries
    const [entry] = entries
    if (entry === undefined) return undefined
    const data = xdr.LedgerEntryData.fromXdr(entry.xdr, "base64")
    return data.type === "account" ? data.account : undefined
  })

  /** Stroops of an account, 0 if it does not exist. */
  const balance = (address: string) => Effect.map(entryOf(address), (entry) => entry?.balance ?? 0n)

  // The key of the root account of a standalone network is the hash of the passphrase.
  const root = Keypair.fromRawEd25519Seed(createHash("sha256").update(passphrase).digest())
  const rootSequence = Effect.map(entryOf(root.publicKey()), (entry) => entry?.seqNum ?? 0n)

  /** Sends operations of the root account to the node itself, and waits for their ledger. */
  const byRoot = Effect.fnUntraced(function* (...operations: ReadonlyArray<Xdr.Operation>) {
    const sequence = yield* rootSequence
    const source = new Account(root.publicKey(), String(sequence))
    const builder = new TransactionBuilder(source, { fee: rootFee, networkPassphrase: passphrase }).setTimeout(60)
    for (const operation of operations) builder.addOperation(operation)
    const transaction = builder.build()
    transaction.sign(root)
    const answer = (yield* call("sendTransaction", { transaction: transaction.toXDR() })) as { readonly status: string }
    if (answer.status !== "PENDING") return yield* Effect.die(new Error(`the node answers ${JSON.stringify(answer)}`))
    yield* Effect.repeat(rootSequence, {
      until: (found) => found > sequence,
      schedule: Schedule.spaced("250 millis")
    })
  })
  /** Stroops that the ledger locks per entry, and twice for the account itself. */
  const baseReserve = Effect.map(call("getLatestLedger", {}), (latest) =>
    BigInt(xdr.LedgerHeader.fromXdr((latest as Latest).headerXdr, "base64").baseReserve)
  )
  const created = (destination: string, startingBalance: string) =>
    Operation.createAccount({ destination, startingBalance })

  yield* script.createNetwork({
    network_type: "stellar",
    name: "field",
    passphrase,
    rpc_urls: [started.url],
    average_blocktime_ms: 5000,
    is_testnet: true
  })
  const relayerOf = (policies: object = {}) =>
    script.createRelayer({ network: "field", network_type: "stellar", policies: { timeout_seconds: 30, ...policies } })
  const body = (...operations: ReadonlyArray<object>) => ({ network: "field", operations })
  const relayer = yield* relayerOf()
  const receivers = Script.times(4, () => Keypair.random().publicKey())
  const [receiver = ""] = receivers
  yield* byRoot(...[relayer.address, ...receivers].map((address) => created(address, String(funds))))

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
    "a payment of more than there is, one behind it, and the cancel of the first",
    "insufficient_funds, then canceled; 0 received; 1 confirmed; 1 received",
    Effect.gen(function* () {
      const to = receivers[1] ?? ""
      const before = yield* balance(to)
      const sent = yield* script.send(relayer, body(payment(to, 10n * BigInt(funds) * stroopsPerXlm)))
      const held = yield* script.when(relayer, sent, ({ code }) => code !== "queued")
      const behind = yield* counting(
        Effect.gen(function* () {
          const one = yield* payments(1)
          yield* script.cancel(relayer, sent)
          return yield* ends(one)
        })
      )
      const first = Script.ended(yield* script.end(relayer, sent))
      return `${held.code}, then ${first}; ${(yield* balance(to)) - before} received; ${behind}`
    })
  )
  yield* sheet.check(
    "a payment that the base reserve of the network does not leave, until the account gets more",
    "pending insufficient_funds, then 1 confirmed; 1 received",
    Effect.gen(function* () {
      // An account keeps two base reserves, so that three leave one; a fourth is sent later.
      const reserve = yield* baseReserve
      const poor = yield* relayerOf()
      const to = Keypair.random().publicKey()
      yield* byRoot(created(poor.address, xlm(3n * reserve)), created(to, xlm(2n * reserve)))
      const sent = yield* script.send(poor, body(payment(to, reserve + reserve / 2n)))
      const held = yield* script.when(poor, sent, ({ code, status }) => status !== "pending" || code !== "queued")
      yield* byRoot(Operation.payment({ destination: poor.address, asset: Asset.native(), amount: xlm(reserve) }))
      const row = yield* script.end(poor, sent)
      const got = ((yield* balance(to)) - 2n * reserve) / (reserve + reserve / 2n)
      return `${held.status} ${held.code}, then ${Script.counted([row])}; ${got} received`
    })
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
    "two channels whose reserves the account lacks, a payment meanwhile, and more funds",
    "pending insufficient_funds; 1 confirmed; 1 received; then 2 channels lock 6 base reserves",
    Effect.gen(function* () {
      const reserve = yield* baseReserve
      const poor = yield* relayerOf({ channels: { count: 2 } })
      yield* byRoot(created(poor.address, xlm(4n * reserve)))
      // What the channels wait for until the service has seen the account. The reserves are checked afterwards.
      const before = new Set(["queued", "no_account"])
      const work = yield* Effect.repeat(script.list(poor, "origin=channel"), {
        until: ([first]) => first?.code !== undefined && !before.has(first.code),
        schedule: Schedule.spaced("250 millis")
      })
      const [first] = work
      const sent = yield* counting(
        Effect.flatMap(script.send(poor, body(payment())), (one) =>
          Effect.map(script.ends(poor, [one]), Script.counted)
        )
      )
      yield* byRoot(Operation.payment({ destination: poor.address, asset: Asset.native(), amount: xlm(20n * reserve) }))
      yield* script.ends(poor, work)
      const { channels = [], locked_by_channels = 0 } = yield* script.nonce(poor)
      const locked = BigInt(locked_by_channels) / reserve
      return `${first?.status} ${first?.code}; ${sent}; then ${channels.length} channels lock ${locked} base reserves`
    })
  )
  yield* sheet.check(
    "a top-up of an account that does not exist, and a payment from it",
    "the account has all of `to` beside two base reserves; 1 confirmed; 1 received",
    Effect.gen(function* () {
      const payer = yield* relayerOf({ allowed_operations: ["createAccount"] })
      yield* byRoot(created(payer.address, String(funds)))
      const target = yield* relayerOf({ top_up: { from: payer.id, ...topUp } })
      const found = yield* script.toppedUp(target, balance(target.address))
      const isAll = found === BigInt(topUp.to) + 2n * (yield* baseReserve)
      const all = isAll ? "the account has all of `to` beside two base reserves" : `the account has ${found}`
      const paid = yield* counting(
        Effect.flatMap(script.send(target, body(payment())), (one) =>
          Effect.map(script.ends(target, [one]), Script.counted)
        )
      )
      return `${all}; ${paid}`
    })
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
