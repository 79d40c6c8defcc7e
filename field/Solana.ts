// The script of solana validators. Its oracle is what the validator says about the receivers, never what the service says.
import { Clock, Console, DateTime, Effect, Schedule } from "effect"
import { randomBytes } from "node:crypto"
import * as Conformance from "../testkit/solana/Conformance.ts"
import type { MessageConfig } from "../src/networks/solana/rules/Message.ts"
import { memoProgram, systemProgram } from "../src/networks/solana/rules/Programs.ts"
import { encodeBase58 } from "../src/networks/solana/rules/Wire.ts"
import * as EvmProxy from "../testkit/EvmProxy.ts"
import * as Keys from "../testkit/solana/Keys.ts"
import type { Started } from "./Nodes.ts"
import * as Recording from "./Recording.ts"
import * as Script from "./Script.ts"
import type { Sheet } from "./Sheet.ts"

/** Lamports that the relayer gets: 100 SOL. */
const funds = 100_000_000_000n

/** Lamports of a transfer: more than the least that an account without data must have. */
const amount = 1_000_000n

const newAddress = () => encodeBase58(randomBytes(32))

const transferData = (lamports: bigint) =>
  Buffer.from([2, 0, 0, 0, ...new Uint8Array(BigUint64Array.of(lamports).buffer)]).toString("base64")

const memo = (text: string) => ({ program_id: memoProgram, accounts: [], data: Buffer.from(text).toString("base64") })

/** Lamports: a relayer gets them if it has less than `below`. */
const topUp = { below: "500000000", to: "1000000000", max_per_day: "10000000000" } as const

/** Seconds until the deadlines of the cases: enough for a block, and too few for its finality. */
const deadline = 10

/** What a transaction of version 1 of a stranger may use. */
const config: MessageConfig = { computeUnitLimit: 10_000, loadedBytes: 1_000_000 }

/** An account of somebody else, whose transactions do not pass the service. */
const strangerAt = ({ call }: Started) => {
  const key = Keys.ofSeed(randomBytes(32))
  /** Ends when a transaction with these instructions is final. */
  const land = Effect.fnUntraced(function* (
    instructions: Parameters<typeof Conformance.signed>[1]["instructions"],
    options: { readonly config?: MessageConfig; readonly level?: "confirmed" | "finalized" } = {}
  ) {
    const { value } = (yield* call("getLatestBlockhash", [{ commitment: "confirmed" }])) as {
      readonly value: { readonly blockhash: string }
    }
    const { raw } = Conformance.signed(key, { instructions, blockhash: value.blockhash, config: options.config })
    const levels = options.level === "confirmed" ? ["confirmed", "finalized"] : ["finalized"]
    const send = call("sendTransaction", [raw, { encoding: "base64", skipPreflight: true }])
    const status = Effect.gen(function* () {
      const { value: found } = (yield* call("getSignatureStatuses", [[yield* send]])) as {
        readonly value: ReadonlyArray<{ readonly confirmationStatus: string } | null>
      }
      return found[0]?.confirmationStatus ?? ""
    })
    yield* status.pipe(Effect.repeat({ until: (one) => levels.includes(one), schedule: Schedule.spaced("1 second") }))
  })
  return { address: key.address, land }
}

const inSeconds = (seconds: number) =>
  Effect.map(Clock.currentTimeMillis, (now) => DateTime.formatIso(DateTime.makeUnsafe(now + seconds * 1000)))

interface Options {
  /** The version of a node whose answers to raw calls are recorded for the tests. */
  readonly recordsFor: string | undefined
}

export const run = Effect.fnUntraced(function* (sheet: Sheet, started: Started, { recordsFor }: Options) {
  const script = yield* Script.open
  const { call } = started
  const balance = (address: string) =>
    Effect.map(call("getBalance", [address, { commitment: "finalized" }]), (answer) =>
      BigInt((answer as { value: number }).value)
    )
  const received = (receivers: ReadonlyArray<string>) =>
    Effect.map(Effect.forEach(receivers, balance), (all) => all.reduce((sum, one) => sum + one, 0n) / amount)

  const relayerOf = (network: string, policies: object = {}) =>
    script.createRelayer({
      network,
      network_type: "solana",
      policies: { fee_payment_strategy: "relayer", ...policies }
    })
  const relayerAt = Effect.fnUntraced(function* (network: string, url: string) {
    yield* script.createNetwork({
      network_type: "solana",
      name: network,
      rpc_urls: [url],
      average_blocktime_ms: 400,
      is_testnet: true
    })
    return yield* relayerOf(network)
  })
  const relayer = yield* relayerAt("field", started.url)
  const transfer = (to: string, lamports = amount, from = relayer.address) => ({
    program_id: systemProgram,
    accounts: [
      { pubkey: from, is_signer: true, is_writable: true },
      { pubkey: to, is_signer: false, is_writable: true }
    ],
    data: transferData(lamports)
  })
  const transfers = Effect.fnUntraced(function* (count: number, more: object = {}) {
    const receivers = Script.times(count, newAddress)
    const sent = yield* script.sendAll(
      relayer,
      receivers.map((to) => ({ instructions: [transfer(to)], ...more }))
    )
    return { receivers, sent }
  })
  const outcome = Effect.fnUntraced(function* ({ receivers, sent }: Script.Transfers) {
    const rows = yield* script.ends(relayer, sent)
    return `${Script.counted(rows)}; ${yield* received(receivers)} received`
  })

  const proxy = yield* EvmProxy.make(started.url)
  const behindProxy = yield* relayerAt("field-proxy", proxy.url)
  const stranger = strangerAt(started)
  for (const { address } of [relayer, behindProxy, stranger]) {
    yield* call("requestAirdrop", [address, Number(funds)])
    yield* balance(address).pipe(
      Effect.repeat({ until: (found) => found >= funds, schedule: Schedule.spaced("1 second") })
    )
  }
  for (const { id } of [relayer, behindProxy]) yield* script.call(`relayers/${id}/check`, { method: "POST" })

  yield* sheet.check(
    "a transfer",
    "1 confirmed; 1 received",
    Effect.gen(function* () {
      return yield* outcome(yield* transfers(1))
    })
  )
  yield* sheet.check(
    "50 transfers at once",
    "50 confirmed; 50 received",
    Effect.gen(function* () {
      return yield* outcome(yield* transfers(50))
    })
  )
  yield* sheet.check(
    "a `compute_unit_price` without a limit",
    "1 confirmed; 1 received",
    Effect.gen(function* () {
      return yield* outcome(yield* transfers(1, { compute_unit_price: "1000" }))
    })
  )
  yield* sheet.check(
    "62 instructions",
    "confirmed",
    Effect.gen(function* () {
      const sent = yield* script.send(relayer, {
        instructions: Script.times(62, (index) => memo(String.fromCodePoint(65 + (index % 26))))
      })
      return Script.ended(yield* script.end(relayer, sent))
    })
  )
  yield* sheet.check(
    "65 instructions",
    "400, names instructions",
    Effect.gen(function* () {
      const { status, text } = yield* script.ask(relayer, { instructions: Script.times(65, () => memo("a")) })
      return `${status}, ${text.includes("instructions") ? "names instructions" : text}`
    })
  )
  yield* sheet.check(
    "a transfer of more than there is, a transfer behind it, and the cancel of the first",
    "insufficient_funds, then canceled; 0 received; 1 confirmed; 1 received",
    Effect.gen(function* () {
      const to = newAddress()
      const sent = yield* script.send(relayer, { instructions: [transfer(to, funds * 10n)] })
      const { code } = yield* script.when(relayer, sent, (row) => row.code !== "queued")
      const behind = yield* transfers(1)
      yield* script.cancel(relayer, sent)
      const { status } = yield* script.end(relayer, sent)
      return `${code}, then ${status}; ${yield* received([to])} received; ${yield* outcome(behind)}`
    })
  )
  yield* sheet.check(
    "a transfer of version 1",
    "1 confirmed; 1 received",
    Effect.gen(function* () {
      return yield* outcome(yield* transfers(1, { version: 1 }))
    })
  )
  yield* sheet.check(
    "version 1 with more bytes than this node takes, and a transfer behind it",
    "failed would_fail; 1 confirmed; 1 received",
    Effect.gen(function* () {
      const sent = yield* script.send(relayer, { instructions: [memo("a".repeat(2000))], version: 1 })
      const behind = yield* outcome(yield* transfers(1))
      return `${Script.ended(yield* script.end(relayer, sent))}; ${behind}`
    })
  )
  yield* sheet.check(
    "a lookup table that is younger than 32 slots",
    "1 confirmed; 1 received",
    Effect.gen(function* () {
      const to = newAddress()
      const slot = Number(yield* call("getSlot", [{ commitment: "confirmed" }]))
      const { instructions, table } = yield* Effect.promise(() => Conformance.tableOf(stranger.address, slot, [to]))
      yield* stranger.land(instructions, { level: "confirmed" })
      const sent = yield* script.send(relayer, { instructions: [transfer(to)], address_lookup_tables: [table] })
      return yield* outcome({ receivers: [to], sent: [sent] })
    })
  )
  yield* sheet.check(
    "a deadline after the block of a transfer, and before that is final",
    "confirmed; 1 received",
    Effect.gen(function* () {
      const to = newAddress()
      const valid_until = yield* inSeconds(deadline)
      const sent = yield* script.send(relayer, { instructions: [transfer(to)], valid_until })
      const { code } = yield* script.end(relayer, sent)
      return `${code}; ${yield* received([to])} received`
    })
  )
  /** A transfer that no node gets before its deadline. */
  const dropped = Effect.fnUntraced(function* () {
    proxy.set("sendTransaction", { do: "drop" })
    const to = newAddress()
    const valid_until = yield* inSeconds(deadline)
    const before = proxy.count("sendTransaction")
    const sent = yield* script.send(behindProxy, {
      instructions: [transfer(to, amount, behindProxy.address)],
      valid_until
    })
    yield* Effect.sync(() => proxy.count("sendTransaction")).pipe(
      Effect.repeat({ until: (count) => count > before, schedule: Schedule.spaced("250 millis") })
    )
    yield* Effect.sleep(`${deadline + 2} seconds`)
    return { to, sent, valid_until }
  })
  yield* sheet.check(
    "a deadline before the node gets the bytes, which it never does",
    "expired; 0 received",
    Effect.gen(function* () {
      const { sent, to } = yield* dropped()
      const { status } = yield* script.end(behindProxy, sent)
      return `${status}; ${yield* received([to])} received`
    })
  )
  yield* sheet.check(
    "a deadline before the node gets the bytes, which are executed after it",
    "confirmed executed_late; 1 received",
    Effect.gen(function* () {
      const { sent, to, valid_until } = yield* dropped()
      // A deadline is compared with the time of blocks, which is seconds behind the clock of this machine.
      const slot = call("getSlot", [{ commitment: "confirmed" }])
      const time = Effect.flatMap(slot, (confirmed) => call("getBlockTime", [confirmed]))
      const until = DateTime.toEpochMillis(DateTime.makeUnsafe(valid_until))
      yield* time.pipe(
        Effect.repeat({ until: (seconds) => Number(seconds) * 1000 > until, schedule: Schedule.spaced("1 second") })
      )
      proxy.clear()
      const bytes = proxy.seen.findLast(({ method }) => method === "sendTransaction")
      yield* call("sendTransaction", bytes?.params ?? [])
      const { code, status } = yield* script.end(behindProxy, sent)
      return `${status} ${code}; ${yield* received([to])} received`
    })
  )
  yield* sheet.check(
    "a backup with three transfers in flight, a stranger's transfers of each version to the relayer, and the restore",
    "3 confirmed; 3 received",
    Effect.gen(function* () {
      const made = yield* transfers(3)
      yield* script.backup
      yield* script.ends(relayer, made.sent)
      const lamport = [Conformance.transferOf(stranger.address, relayer.address, 1n)]
      yield* stranger.land(lamport)
      yield* stranger.land(lamport, { config })
      yield* script.putBack
      return yield* outcome(made)
    })
  )
  yield* sheet.check(
    "a top-up of an account that does not exist, and a transfer from it",
    "the account has all of `to`; 1 confirmed; 1 received",
    Effect.gen(function* () {
      const target = yield* relayerOf("field", { top_up: { from: relayer.id, ...topUp } })
      const found = yield* script.toppedUp(target, balance(target.address))
      const to = newAddress()
      const sent = yield* script.send(target, { instructions: [transfer(to, amount, target.address)] })
      const rows = yield* script.ends(target, [sent])
      const all = found === BigInt(topUp.to) ? "the account has all of `to`" : `the account has ${found}`
      return `${all}; ${Script.counted(rows)}; ${yield* received([to])} received`
    })
  )
  yield* Script.commonCases(script, {
    check: (name, expected, see) => sheet.check(name, expected, see),
    leaveOut: (name, why) => sheet.leaveOut(name, why),
    restart: started.restart,
    relayer,
    transfers,
    outcome,
    received
  })
  yield* sheet.check(
    "raw calls, each answered as the cluster in memory of the tests answers it",
    "the same answers",
    Effect.gen(function* () {
      const found = yield* Recording.differences(started, recordsFor)
      yield* Effect.forEach(found, (one) => Console.log(one))
      return found.length === 0 ? "the same answers" : `${found.length} differ`
    })
  )
})
