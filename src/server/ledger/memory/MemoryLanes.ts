// The ledger for the holders of lanes, in memory: on the same pure rules as the one on a database. It has channels and restores here.
import { Clock, Effect, Option } from "effect"
import type { Redacted } from "effect"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import { newestRequest } from "../../../domain/transaction/Transaction.ts"
import type { TransactionId } from "../../../domain/transaction/TransactionId.ts"
import type { AddressPart } from "../../../sql/Rows.ts"
import type { ChannelWork, LaneChannels, LaneWithChannels } from "../hold/LaneChannels.ts"
import { maxBegun } from "../hold/LaneRestores.ts"
import type { Restore } from "../hold/LaneRestores.ts"
import type { Account } from "../NewTransaction.ts"
import { hasPlace, isOpen, LedgerMemory, typeOf } from "./LedgerMemory.ts"
import type { AccountRow, TransactionRow } from "./LedgerMemory.ts"
import * as MemoryCommits from "./MemoryCommits.ts"
import * as MemoryHolds from "./MemoryHolds.ts"

export const make = Effect.gen(function* () {
  const { atomically, rows } = yield* LedgerMemory
  const { claims, reading, held } = yield* MemoryHolds.make

  const addresses = (type: string, { from, length, texts }: AddressPart) =>
    Effect.sync(() =>
      rows
        .accounts()
        .filter(({ chain, address }) => typeOf(chain) === type && texts.includes(address.slice(from, from + length)))
        .map(({ address }) => address)
    )

  /** Counters that the network stores of an account, as JSON. */
  const countersOf = ({ chain, account: { counters } }: AccountRow): { readonly stage?: unknown } =>
    counters === undefined ? {} : JSON.parse(rows.rules.of(chain).counters.text(counters))

  const lanesWithChannels = (type: string) =>
    Effect.sync(() =>
      rows.accounts().flatMap((row): ReadonlyArray<LaneWithChannels> => {
        const channels = typeOf(row.chain) === type ? rows.channelsOf(row.id) : []
        if (channels.length === 0) return []
        const used = rows.of(row.id).filter((one) => {
          const { account = row.address, sequence } = one.stored.transaction.place ?? {}
          return hasPlace(one) && account !== row.address && sequence !== undefined
        })
        const unready = channels.filter((channel) => countersOf(channel).stage !== "ready")
        const { chain, address } = row
        return [{ chain, address, count: channels.length, unready: unready.length, used: used.length }]
      })
    )

  const channelStateOf = (row: AccountRow | undefined, now: Moment): LaneChannels => {
    if (row === undefined) return { lane: Option.none(), isWorking: false }
    const works = rows.of(row.id).filter(({ stored }) => stored.transaction.origin === "channel")
    const failedAt = works.flatMap(({ stored, finalAt }) =>
      stored.transaction.state === "failed" ? (finalAt ?? []) : []
    )
    return {
      lane: Option.some(rows.laneOf(row, now)),
      isWorking: works.some(isOpen),
      ...(failedAt.length === 0 ? {} : { failedAt: Math.max(...failedAt) })
    }
  }

  const channelsOf = (account: Account) =>
    Effect.map(Clock.currentTimeMillis, (now) => channelStateOf(rows.find(account), now))

  const beginChannelWork = Effect.fn("LaneLedger.beginChannelWork")(function* (
    account: Account,
    { channels, counters, ...work }: ChannelWork
  ) {
    const now = yield* Clock.currentTimeMillis
    const lane = rows.ensure(account)
    if (channelStateOf(lane, now).isWorking) return
    for (const { address, seed } of channels) {
      const row = rows.insertAccount({ chain: lane.chain, address }, 1, { parent: lane.id })
      rows.setAccount({ ...row, account: rows.accountAsStored(lane.chain, { ...row.account, counters }) })
      rows.setTables({ seeds: new Map([...rows.tables().seeds, [address, seed]]) })
    }
    rows.insertOwn(lane, { ...work, account, origin: "channel" }, now)
  }, atomically)

  const channelSeed = (address: string): Effect.Effect<Option.Option<Redacted.Redacted>> =>
    Effect.sync(() => Option.fromUndefinedOr(rows.tables().seeds.get(address)))

  /** The transaction that a restore is for. */
  const restoredBy = ({ stored: { chain, transaction } }: TransactionRow): unknown => {
    if (transaction.origin !== "restore") return undefined
    const request = JSON.parse(rows.rules.of(chain).request.text(newestRequest(transaction)))
    return request?.restore?.for
  }

  /** Whether a request pays for a restore that has not begun. A failed restore counts as begun: its fee is lost. */
  const waitsForRestore = ({ stored: { id, laneId, transaction } }: TransactionRow): boolean =>
    transaction.state === "pending" &&
    transaction.cause?.code === "needs_restore" &&
    transaction.cause.figures.fee !== undefined &&
    !rows.of(laneId).some((row) => restoredBy(row) === id && (isOpen(row) || row.stored.transaction.state === "failed"))

  const waitingForRestore = (type: string) =>
    Effect.sync(() =>
      rows
        .all()
        .filter((row) => typeOf(row.stored.chain) === type && waitsForRestore(row))
        .slice(0, maxBegun)
        .map(({ stored: { id, transaction } }) => ({ id, relayer_number: transaction.relayerNumber }))
    )

  const beginRestore = Effect.fn("LaneLedger.beginRestore")(function* (
    _chain: string,
    of: TransactionId,
    restore: Restore
  ) {
    const now = yield* Clock.currentTimeMillis
    const row = rows.tables().transactions.get(of)
    if (row === undefined || !waitsForRestore(row)) return
    const { relayerId, chain, from: address, laneId, apiKeyId, transaction } = row.stored
    const lane = rows.tables().accounts.get(laneId)
    if (lane === undefined) return
    const { relayerNumber } = transaction
    const account: Account = { relayerId, relayerNumber, chain, address, window: lane.windowSize }
    rows.insertOwn(lane, { ...restore, account, origin: "restore", priority: 1, apiKeyId }, now)
  }, atomically)

  return {
    ...claims,
    ...reading,
    ...(yield* MemoryCommits.make(held)),
    addresses,
    lanesWithChannels,
    channelsOf,
    beginChannelWork,
    waitingForRestore,
    beginRestore,
    channelSeed
  }
})
