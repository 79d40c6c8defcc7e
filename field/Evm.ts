// The script of evm nodes. Its oracle is what the node says about the receivers, never what the service says.
import { Effect, Schedule } from "effect"
import type { Relayer } from "../faults/sending/Relayers.ts"
import * as Batches from "./Batches.ts"
import { newAddress } from "./Beside.ts"
import type { Scene } from "./Beside.ts"
import * as Delegations from "./Delegations.ts"
import type { EvmNode, Started } from "./Nodes.ts"
import * as Reorganisations from "./Reorganisations.ts"
import * as Script from "./Script.ts"
import type { Sheet } from "./Sheet.ts"
import * as TopUps from "./TopUps.ts"

/** Wei that each relayer gets: 5 units of the chain. */
const funds = 5n * 10n ** 18n

/**
 * Wei per gas: below the base fee of the newest block of a fresh C-Chain, 225 gwei. The base fee falls with time, but no block shows that
 * while nobody sends.
 */
const treasuryCap = String(100n * 10n ** 9n)

/** Code that stops at once, put in place by code of eight bytes. */
const creation = "0x6001600c60003960016000f300"
/** Reverts without a reason. */
const revertingCreation = "0x60006000fd"
/** A contract that reverts (`60006000fd`), and one that runs an invalid operation (`fe`). */
const reverting = "0x6005600c60003960056000f360006000fd"
const invalid = "0x6001600c60003960016000f3fe"

const speeds = ["safeLow", "average", "fast", "fastest"] as const

/** Gas of a call that fails in every way. */
const callGas = 100_000

const word = (value: bigint | string): string => BigInt(value).toString(16).padStart(64, "0")

/** What transfers of the script move: the money of the chain, or a token on a chain that forbids values. */
const moneyOf = ({ token }: EvmNode, call: Started["call"]) => {
  if (token === undefined) {
    return {
      gas: 21_000,
      balance: (address: string) =>
        Effect.map(call("eth_getBalance", [address, "latest"]), (hex) => BigInt(String(hex))),
      transfer: (to: string, amount: bigint) => ({ to, value: String(amount) })
    }
  }
  return {
    gas: token.gas,
    balance: (address: string) =>
      Effect.map(call("eth_call", [{ to: token.address, data: `0x70a08231${word(address)}` }, "latest"]), (hex) =>
        BigInt(String(hex))
      ),
    transfer: (to: string, amount: bigint) => ({
      to: token.address,
      value: "0",
      data: `0xa9059cbb${word(to)}${word(amount)}`
    })
  }
}

export const run = Effect.fnUntraced(function* (sheet: Sheet, node: EvmNode, started: Started) {
  const script = yield* Script.open
  const { call } = started
  const expected = (name: string, usual: string) => node.expects?.[name] ?? usual
  const check = (name: string, usual: string, see: Script.InScope<string>) =>
    sheet.check(name, expected(name, usual), see)

  const money = moneyOf(node, call)
  const { balance } = money
  /** Units of receivers, which had none. */
  const received = (receivers: ReadonlyArray<string>) =>
    Effect.map(Effect.forEach(receivers, balance), (all) => all.reduce((sum, one) => sum + one, 0n))
  const hasCode = (address: string) => Effect.map(call("eth_getCode", [address, "latest"]), (code) => code !== "0x")

  const createNetwork = (fields: object) =>
    script.createNetwork({
      network_type: "evm",
      chain_id: node.chainId,
      average_blocktime_ms: 2000,
      required_confirmations: 1,
      features: node.hasDelegations === true ? ["eip1559", "eip7702"] : ["eip1559"],
      symbol: "ETH",
      ...node.network,
      ...fields
    })
  yield* createNetwork({ name: "field", rpc_urls: [started.url] })
  const relayerOf = (policies: object = {}, signer?: object, network = "field") =>
    script.createRelayer({ network, network_type: "evm", policies: { min_balance: "0", ...policies } }, signer)

  /** An account with funds: one that the node signs for, or a relayer with the key of the treasury. */
  const treasury =
    node.treasury === undefined
      ? undefined
      : yield* relayerOf({ gas_price_cap: treasuryCap }, { type: "plain", config: { key: node.treasury } })
  const fund = Effect.fnUntraced(function* (address: string, wei: bigint) {
    const wanted = (yield* balance(address)) + wei
    if (treasury === undefined) {
      const [from] = (yield* call("eth_accounts", [])) as ReadonlyArray<string>
      if (node.token !== undefined) yield* call("anvil_setBalance", [address, `0x${wei.toString(16)}`])
      const { value, ...request } = money.transfer(address, wei)
      yield* call("eth_sendTransaction", [{ from, ...request, value: `0x${BigInt(value).toString(16)}` }])
    } else {
      yield* script.end(treasury, yield* script.send(treasury, money.transfer(address, wei)))
    }
    yield* balance(address).pipe(
      Effect.repeat({ until: (found) => found >= wanted, schedule: Schedule.spaced("250 millis") })
    )
  })

  const relayer: Relayer = yield* relayerOf()
  const transfer = (to: string, more: object = {}) => ({ ...money.transfer(to, 1n), ...more })
  /** Sends one unit to each of some new receivers. */
  const transfers = Effect.fnUntraced(function* (count: number, more: (index: number) => object = () => ({})) {
    const receivers = Script.times(count, newAddress)
    const sent = yield* script.sendAll(
      relayer,
      receivers.map((to, index) => transfer(to, more(index)))
    )
    return { receivers, sent }
  })
  const outcome = Effect.fnUntraced(function* ({ receivers, sent }: Script.Transfers) {
    const rows = yield* script.ends(relayer, sent)
    return `${Script.counted(rows)}; ${yield* received(receivers)} received`
  })

  yield* check(
    "a transfer of a relayer without funds, which gets funds later",
    "pending insufficient_funds, then 1 confirmed; 1 received",
    Effect.gen(function* () {
      const made = yield* transfers(1)
      const [sent] = made.sent
      const held = yield* script.when(
        relayer,
        sent ?? { id: "" },
        ({ code, status }) => status !== "pending" || code !== "queued"
      )
      yield* fund(relayer.address, funds)
      return `${held.status} ${held.code}, then ${yield* outcome(made)}`
    })
  )
  yield* check(
    "30 transfers at once, with all speeds",
    "30 confirmed; 30 received",
    Effect.gen(function* () {
      return yield* outcome(yield* transfers(30, (index) => ({ speed: speeds[index % speeds.length] })))
    })
  )
  yield* check(
    "contracts that are created, without and with `gas_limit`",
    "2 confirmed; both have code",
    Effect.gen(function* () {
      const sent = yield* script.sendAll(relayer, [
        { to: null, data: creation },
        { to: null, data: creation, gas_limit: callGas }
      ])
      const rows = yield* script.ends(relayer, sent)
      const codes = yield* Effect.forEach(rows, ({ contract_address = "0x" }) => hasCode(contract_address))
      return `${Script.counted(rows)}; ${codes.every(Boolean) ? "both have code" : "code is missing"}`
    })
  )
  yield* check(
    "a creation that reverts",
    "failed reverted, without a contract_address",
    Effect.gen(function* () {
      const row = yield* script.end(
        relayer,
        yield* script.send(relayer, { to: null, data: revertingCreation, gas_limit: callGas })
      )
      return `${Script.ended(row)}, ${row.contract_address === undefined ? "without a" : "with the"} contract_address`
    })
  )

  const deployed = Effect.fnUntraced(function* (data: string) {
    const row = yield* script.end(relayer, yield* script.send(relayer, { to: null, data }))
    return row.contract_address ?? ""
  })
  const contracts = { reverting: yield* deployed(reverting), invalid: yield* deployed(invalid) }

  for (const [name, to] of Object.entries(contracts)) {
    const what = name === "reverting" ? "that reverts" : "that runs an invalid operation"
    yield* check(
      `a call ${what}, without \`gas_limit\`, and a transfer behind it`,
      "failed would_revert; 1 confirmed; 1 received",
      Effect.gen(function* () {
        const sent = yield* script.send(relayer, { to, data: "0x00" })
        const behind = yield* outcome(yield* transfers(1))
        return `${Script.ended(yield* script.end(relayer, sent))}; ${behind}`
      })
    )
    yield* check(
      `a call ${what}, with \`gas_limit\``,
      "failed reverted",
      Effect.gen(function* () {
        const sent = yield* script.send(relayer, { to, data: "0x00", gas_limit: callGas })
        return Script.ended(yield* script.end(relayer, sent))
      })
    )
  }

  yield* check(
    "a `gas_limit` below 21,000",
    "400, names gas_limit",
    Effect.gen(function* () {
      const { status, text } = yield* script.ask(relayer, transfer(newAddress(), { gas_limit: 20_000 }))
      return `${status}, ${text.includes("gas_limit") ? "names gas_limit" : text}`
    })
  )
  yield* check(
    "a value above the balance, and its cancel",
    "insufficient_funds, then canceled; 0 received",
    Effect.gen(function* () {
      const to = newAddress()
      const sent = yield* script.send(relayer, { to, value: String(funds * 100n) })
      const held = yield* script.when(relayer, sent, ({ code }) => code !== "queued")
      yield* script.cancel(relayer, sent)
      return `${held.code}, then ${Script.ended(yield* script.end(relayer, sent))}; ${yield* received([to])} received`
    })
  )
  if (node.token !== undefined) {
    yield* check(
      "a value, which the chain forbids, and a transfer behind it",
      "failed would_revert; 1 confirmed; 1 received",
      Effect.gen(function* () {
        const sent = yield* script.send(relayer, { to: newAddress(), value: "1" })
        const behind = yield* outcome(yield* transfers(1))
        return `${Script.ended(yield* script.end(relayer, sent))}; ${behind}`
      })
    )
  }
  yield* check(
    "a replacement with three times the fees",
    "confirmed; 1 received",
    Effect.gen(function* () {
      const to = newAddress()
      const fees = (factor: bigint) => ({
        max_fee_per_gas: String(30n * 10n ** 9n * factor),
        max_priority_fee_per_gas: String(2n * 10n ** 9n * factor)
      })
      const sent = yield* script.send(relayer, transfer(to, { gas_limit: money.gas, ...fees(1n) }))
      yield* script.call(`relayers/${relayer.id}/transactions/${sent.id}`, {
        method: "PUT",
        body: transfer(to, { gas_limit: money.gas, ...fees(3n) })
      })
      return `${Script.ended(yield* script.end(relayer, sent))}; ${yield* received([to])} received`
    })
  )
  if (node.hasDelegations === true) {
    const payer = Effect.fnUntraced(function* (policies: object) {
      const made: Relayer = yield* relayerOf(policies)
      yield* fund(made.address, funds)
      return made
    })
    yield* Delegations.cases({ script, node, call, check, deploy: deployed, payer })
  }
  const { rewind } = node
  const { url } = started
  const scene: Scene = { script, node, call, url, check, deploy: deployed, relayerOf, createNetwork, fund, funds }
  const executor = node.hasDelegations === true ? (yield* Batches.cases(scene)).solady : undefined
  if (node.isQuiet === true) {
    sheet.leaveOut("top-ups", "no block comes by itself, and a single RPC URL has to show a low balance at two of them")
  } else if (node.token === undefined) {
    yield* TopUps.cases({ ...scene, executor })
  }
  yield* Script.commonCases(script, {
    check,
    leaveOut: (name, why) => sheet.leaveOut(name, why),
    restart: started.restart,
    relayer,
    transfers,
    outcome,
    received
  })
  // A chain without its newest blocks is no place for later cases.
  if (executor !== undefined && rewind !== undefined) {
    yield* Reorganisations.cases({ ...scene, rewind: (height) => rewind(call, height), executor })
  }
})
