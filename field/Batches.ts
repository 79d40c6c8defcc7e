// The cases of delegations of a relayer's own account, and of many calls in one transaction, with executors that others have published. Their
// oracle is the code of the account and the balances of the receivers on the node.
import { DateTime, Effect } from "effect"
import { parseTransaction } from "viem"
import type { Hex } from "viem"
import type { Relayer } from "../faults/sending/Relayers.ts"
import { encodeExecute } from "../src/networks/evm/rules/Batch.ts"
import * as EvmProxy from "../testkit/EvmProxy.ts"
import { until } from "../testkit/process/Folder.ts"
import { hashOf, isType4, newAddress, sharedKey, toolsOf } from "./Beside.ts"
import type { Entry, Scene } from "./Beside.ts"
import * as Published from "./Published.ts"
import * as Script from "./Script.ts"

/** The time of two blocks: what the node has got is in one of them. A node may make none without a transaction. */
const twoBlocks = "4 seconds"

/** Gas of calls that revert: geth 1.17 charges a call with value to a new account more than 150,000. */
const givenGas = 1_000_000

export const cases = Effect.fnUntraced(function* (scene: Scene) {
  const { check, createNetwork, deploy, fund, funds, relayerOf, script, url } = scene
  const tools = toolsOf(scene)
  const creations = yield* Published.creations
  const deployed = (creation: string) => Effect.map(deploy(creation), (address) => address.toLowerCase())
  const solady = yield* deployed(creations.solady)
  const metamask = yield* deployed(creations.metamask)
  const funded = Effect.fnUntraced(function* (policies: object = {}, signer?: object, network?: string) {
    const made = yield* relayerOf(policies, signer, network)
    yield* fund(made.address, funds)
    return made
  })
  const relayer = yield* funded()

  yield* check(
    "contracts that are no executor, take no ether, obey strangers, or are a proxy, as a delegate",
    "Simple7702Account 400; ERC7821 of OpenZeppelin 400; open to strangers 400; a minimal proxy 400; the own account 400; then the account has no code",
    Effect.gen(function* () {
      const expected = [
        ["Simple7702Account", yield* deployed(creations.simple7702), "supportsExecutionMode"],
        ["ERC7821 of OpenZeppelin", yield* deployed(creations.withoutReceive), "takes no transfers"],
        ["open to strangers", yield* deployed(creations.open), "lets anybody execute"],
        ["a minimal proxy", yield* deployed(Published.proxyOf(solady)), "is a proxy"],
        ["the own account", relayer.address, "own address"]
      ] as const
      const seen = yield* Effect.forEach(expected, ([name, address, words]) =>
        Effect.map(
          tools.delegating(relayer, address),
          ({ status, text }) => `${name} ${status}${text.includes(words) ? "" : ` ${text}`}`
        )
      )
      const code = yield* tools.code(relayer.address)
      return `${seen.join("; ")}; then the account has ${code === "0x" ? "no code" : code}`
    })
  )

  const executors = [
    ["ERC7821 of solady", solady, relayer],
    ["EIP7702StatelessDeleGator of MetaMask", metamask, yield* funded()]
  ] as const
  for (const [name, executor, sender] of executors) {
    const warns = name.includes("solady") ? "warns of signatures" : "warns of no signatures"
    yield* check(
      `a delegation to ${name}, and three calls that are sent at once`,
      `${warns}; 2 confirmed; the delegation is there; 3 received; next nonce 3`,
      Effect.gen(function* () {
        const receivers = Script.times(3, newAddress)
        const delegation = yield* tools.delegate(sender, executor)
        const calls = yield* script.send(sender, { calls: tools.callsTo(receivers) })
        const rows = yield* script.ends(sender, [delegation, calls])
        const warned = delegation.text.includes("ERC-1271") ? "warns of signatures" : "warns of no signatures"
        const seen = `${yield* tools.runs(sender.address, executor)}; ${yield* tools.received(receivers)} received`
        return `${warned}; ${Script.counted(rows)}; ${seen}; ${yield* tools.nextNonce(sender)}`
      })
    )
  }
  yield* check(
    "the own account, the zero address and a nested `execute` as receivers of calls, and `execute` beside calls",
    "400, 400, 400, 400",
    Effect.gen(function* () {
      const [stolen, other] = [newAddress(), newAddress()]
      const execute = encodeExecute([{ to: stolen, value: 1n }])
      const bodies = [
        { calls: [{ to: relayer.address, value: "1" }, ...tools.callsTo([other])] },
        { calls: [...tools.callsTo([other]), { to: `0x${"00".repeat(20)}`, data: execute }] },
        { calls: [...tools.callsTo([other]), { to: relayer.address, data: execute }] },
        { to: relayer.address, value: "0", data: execute, gas_limit: 200_000 }
      ]
      const answers = yield* Effect.forEach(bodies, (body) => script.ask(relayer, body))
      return answers.map(({ status }) => status).join(", ")
    })
  )
  yield* check(
    "two calls of which the second reverts, without and with `gas_limit`",
    "failed would_revert, failed reverted; 0 received",
    Effect.gen(function* () {
      const to = newAddress()
      // It is no account, and has no function of this name.
      const calls = [...tools.callsTo([to]), { to: solady, data: "0x01020304" }]
      const rows = yield* Effect.forEach([{}, { gas_limit: givenGas }], (more) =>
        Effect.flatMap(script.send(relayer, { calls, ...more }), (sent) => script.end(relayer, sent))
      )
      return `${rows.map(Script.ended).join(", ")}; ${yield* tools.received([to])} received`
    })
  )
  yield* check(
    "five transfers and five times two calls at once",
    "10 confirmed; 15 received",
    Effect.gen(function* () {
      const receivers = Script.times(15, newAddress)
      const bodies = Script.times(5, (index) => [
        { to: receivers[index], value: "1" },
        { calls: tools.callsTo(receivers.slice(5 + 2 * index, 7 + 2 * index)) }
      ]).flat()
      const rows = yield* script.ends(relayer, yield* script.sendAll(relayer, bodies))
      return `${Script.counted(rows)}; ${yield* tools.received(receivers)} received`
    })
  )
  yield* check(
    "the end of the delegation, and two calls behind it",
    "1 confirmed; code 0x; 409, names not_delegated",
    Effect.gen(function* () {
      const { text } = yield* script.call(`relayers/${relayer.id}/delegation`, { method: "DELETE" })
      const rows = yield* script.ends(relayer, [{ id: String(JSON.parse(text).data.transaction_id) }])
      const { status, text: refusal } = yield* script.ask(relayer, {
        calls: tools.callsTo([newAddress(), newAddress()])
      })
      const named = refusal.includes("not_delegated") ? "names not_delegated" : refusal
      return `${Script.counted(rows)}; ${yield* tools.runs(relayer.address, solady)}; ${status}, ${named}`
    })
  )

  yield* check(
    "a delegation that somebody else has sent: `execute` of the own account that was accepted before and after, and a transfer",
    "failed own_account_has_code; 400; 409; 1 confirmed; 1 received",
    Effect.gen(function* () {
      const { account, signer } = sharedKey()
      const owned = yield* funded({}, signer)
      const other = yield* tools.stranger
      const [stolen, to] = [newAddress(), newAddress()]
      const own = {
        to: owned.address,
        value: "0",
        data: encodeExecute([{ to: stolen, value: 1n }]),
        gas_limit: 200_000
      }
      // Signed after the delegation is there.
      const not_before = DateTime.formatIso(DateTime.add(yield* DateTime.now, { seconds: 15 }))
      const before = yield* script.send(owned, { ...own, not_before })
      yield* other.carry(yield* tools.authorized(account, solady, 0))
      const after = yield* script.ask(owned, own)
      const calls = yield* script.ask(owned, { calls: tools.callsTo([stolen, stolen]) })
      const first = Script.ended(yield* script.end(owned, before))
      const rows = yield* script.ends(owned, [yield* script.send(owned, { to, value: "1" })])
      const got = (yield* tools.received([stolen, to])).toString()
      return `${first}; ${after.status}; ${calls.status}; ${Script.counted(rows)}; ${got} received`
    })
  )

  const proxy = yield* EvmProxy.make(url)
  yield* createNetwork({ name: "field-proxy", rpc_urls: [proxy.url] })
  const behindProxy = funded({}, undefined, "field-proxy")
  const send = "eth_sendRawTransaction"

  /** Points at which the service dies while it delegates. `hold`: what the node does until then. */
  const points = [
    { at: "before anything is signed", hold: () => proxy.set("eth_estimateGas", { do: "drop" }), isSent: false },
    { at: "before the node gets the bytes", hold: () => proxy.set(send, { do: "drop" }), isSent: true },
    { at: "before the answer of the node", hold: () => proxy.set(send, { do: "silence" }), isSent: true },
    {
      at: "when a block has it, which the service has not seen",
      hold: () => proxy.set("eth_getTransactionReceipt", { do: "lie", result: () => null }),
      isSent: true
    }
  ]
  for (const { at, hold, isSent } of points) {
    yield* check(
      `\`kill -9\` of the service and its database while it delegates, ${at}, and two calls`,
      "2 confirmed; the delegation is there; 2 received; next nonce 3",
      Effect.gen(function* () {
        const sender = yield* behindProxy
        const receivers = Script.times(2, newAddress)
        const seen = proxy.count(send)
        hold()
        const delegation = yield* tools.delegate(sender, solady)
        if (isSent) {
          yield* until(
            "the bytes",
            Effect.sync(() => (proxy.count(send) > seen ? true : undefined)),
            "1 minute"
          )
        }
        yield* Effect.sleep(twoBlocks)
        yield* script.kill
        proxy.clear()
        const calls = yield* script.send(sender, { calls: tools.callsTo(receivers) })
        const rows = yield* script.ends(sender, [delegation, calls])
        const found = `${yield* tools.runs(sender.address, solady)}; ${yield* tools.received(receivers)} received`
        return `${Script.counted(rows)}; ${found}; ${yield* tools.nextNonce(sender)}`
      }).pipe(Effect.ensuring(Effect.sync(proxy.clear)))
    )
  }

  /** The authorization in the bytes that the service has given to the node. */
  const published = Effect.sync((): Entry => {
    const raw = proxy.seen.filter(({ method }) => method === send).map(({ params: [bytes] }) => bytes)
    const parsed = parseTransaction(String(raw.findLast(isType4)) as Hex)
    const [entry] = parsed.authorizationList ?? []
    if (entry === undefined) throw new Error("the service has given no authorization to the node")
    return entry
  })
  const cleared = Effect.fnUntraced(function* (sender: Relayer) {
    const { status, text } = yield* script.call(`relayers/${sender.id}/nonce/clear`, { body: { from: 0, to: 0 } })
    if (status !== 200) return yield* Effect.die(new Error(`the nonce was not cleared: ${status} ${text}`))
  })

  yield* check(
    "a delegation that no block gets, `nonce/clear`, and its authorization, which somebody else sends afterwards",
    "failed; code 0x; count 2; then 2 confirmed; the delegation is there; 2 received; next nonce 5",
    Effect.gen(function* () {
      const sender = yield* behindProxy
      const receivers = Script.times(2, newAddress)
      proxy.set(send, {
        do: "lie",
        result: ({ params: [raw] }) => hashOf(raw),
        isFor: ({ params: [raw] }) => isType4(raw)
      })
      const delegation = yield* tools.delegate(sender, solady)
      yield* script.when(sender, delegation, ({ status }) => status === "submitted")
      yield* cleared(sender)
      const { status } = yield* script.end(sender, delegation)
      yield* until(
        "the second no-op",
        Effect.map(tools.count(sender.address), (count) => (count >= 2 ? true : undefined)),
        "2 minutes"
      )
      const other = yield* tools.stranger
      yield* other.carry(yield* published)
      const first = `${status}; ${yield* tools.runs(sender.address, solady)}; count ${yield* tools.count(sender.address)}`
      proxy.clear()
      const again = yield* tools.delegate(sender, solady)
      const calls = yield* script.send(sender, { calls: tools.callsTo(receivers) })
      const rows = yield* script.ends(sender, [again, calls])
      const found = `${yield* tools.runs(sender.address, solady)}; ${yield* tools.received(receivers)} received`
      return `${first}; then ${Script.counted(rows)}; ${found}; ${yield* tools.nextNonce(sender)}`
    }).pipe(Effect.ensuring(Effect.sync(proxy.clear)))
  )
  yield* check(
    "the same, and somebody else sends the authorization before the second no-op: the end of the delegation, and a transfer",
    "failed; the delegation is there; then 2 confirmed; code 0x; 1 received; next nonce 5",
    Effect.gen(function* () {
      const sender = yield* behindProxy
      const to = newAddress()
      proxy.set(send, {
        do: "lie",
        result: ({ params: [raw] }) => hashOf(raw),
        // The delegation, and the no-op at its second nonce.
        isFor: (sent) => isType4(sent.params[0]) || EvmProxy.nonceIn(sent) === 1
      })
      const delegation = yield* tools.delegate(sender, solady)
      yield* script.when(sender, delegation, ({ status }) => status === "submitted")
      const other = yield* tools.stranger
      yield* cleared(sender)
      yield* until(
        "the first no-op",
        Effect.map(tools.count(sender.address), (count) => (count >= 1 ? true : undefined)),
        "2 minutes"
      )
      yield* other.carry(yield* published)
      const { status } = yield* script.end(sender, delegation)
      const first = `${status}; ${yield* tools.runs(sender.address, solady)}`
      proxy.clear()
      const { text } = yield* script.call(`relayers/${sender.id}/delegation`, { method: "DELETE" })
      const transfer = yield* script.send(sender, { to, value: "1" })
      const ending = { id: String(JSON.parse(text).data.transaction_id) }
      const rows = yield* script.ends(sender, [ending, transfer])
      const found = `${yield* tools.runs(sender.address, solady)}; ${yield* tools.received([to])} received`
      return `${first}; then ${Script.counted(rows)}; ${found}; ${yield* tools.nextNonce(sender)}`
    }).pipe(Effect.ensuring(Effect.sync(proxy.clear)))
  )
  return { solady }
})
