// The console: sends of many calls and of authorizations of other accounts, from the rows of the form to the second look, and their bad input.
// The bundle of the console in its window runs by the clock of the machine.
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { authorizationsOf, delegatesIn } from "../../web/src/data/Authorizations.ts"
import { movesOf } from "../../web/src/data/Moves.ts"
import { smallestUnits } from "../../web/src/data/Amounts.ts"
import { ConsoleWindow, Whole, fieldOf, objectOf, textOf, transactionIds } from "../../testkit/ConsoleWindow.ts"
import type { Shown } from "../../testkit/ConsoleWindow.ts"

const receiver = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
const other = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
const executor = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

const relayerPath = "/api/v1/relayers/dev-evm"
const transactionPath = `${relayerPath}/transactions/${transactionIds.evm}`

const scalar = `0x${"1a".repeat(32)}`

/** As the API has it. */
const authorization = { chain_id: 31_337, address: executor, nonce: 7, y_parity: 0, r: scalar, s: scalar }

/** As viem has it after JSON.stringify, without `v`. */
const ofViem = { chainId: 0, address: executor, nonce: 7, yParity: 1, r: scalar, s: scalar }

type Recorded = ConsoleWindow["Service"]["recorded"]

/** An account that delegates, on a network with the feature, whose policy allows the delegate. */
const able = (recorded: Recorded) => {
  const networks = recorded("/api/v1/networks") as ReadonlyArray<object>
  const all = networks.map((network) => ({ ...network, features: ["eip1559", "eip7702"] }))
  const paged = { success: true, data: all, pagination: { current_page: 1, per_page: 1000, total_items: all.length } }
  return ({ method, path }: { readonly method: string; readonly path: string }) => {
    if (method === "POST") return recorded(transactionPath)
    if (path === "/api/v1/networks") return new Whole(paged)
    if (path === `${relayerPath}/delegation`) return { address: executor.toLowerCase(), is_final: true }
    return path === relayerPath
      ? { ...objectOf(recorded(path)), policies: { allowed_delegates: [executor.toLowerCase()] } }
      : undefined
  }
}

const button = (shown: Shown, name: string, within?: Parameters<Shown["named"]>[2]) =>
  shown.until(name, () => shown.named("button", name, within)[0])

const question = (shown: Shown) => shown.until("a question", () => shown.document.querySelector("dialog[open]"))

const enter = async (shown: Shown, field: string, value: string) =>
  shown.enter(await shown.until(field, () => shown.document.querySelector(`[id="field-${field}"]`)), value)

/** The text beside the input that says what is wrong with it. */
const problemAt = (shown: Shown, field: string) => {
  const input = shown.document.querySelector(`[id="field-${field}"]`) ?? assert.fail(field)
  return textOf(shown.document.querySelector(`[id="${input.getAttribute("aria-describedby")}"]`))
}

layer(ConsoleWindow.layer, { excludeTestServices: true })("the form of a send", (it) => {
  it.effect("shows every receiver and amount of many calls and their sum, and sends them with exact amounts", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const shown = yield* open({ answer: able(recorded) })
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-evm/send")
        await shown.click(await button(shown, "Add calls"))
        assert.lengthOf(shown.all("fieldset.call"), 2, "a single call needs no list")
        await enter(shown, "calls-0-to", receiver)
        await enter(shown, "calls-0-value", "0.5")
        await enter(shown, "calls-1-to", other)
        await enter(shown, "calls-1-data", "0xa9059cbb")
        await shown.click(await button(shown, "Add a call"))
        await enter(shown, "calls-2-to", receiver)
        await enter(shown, "calls-2-value", "1.25")
        await shown.click(await button(shown, "Add a call"))
        await shown.click(await button(shown, "Remove call 4"))
        await shown.shows("3 calls, together 1.75 ETH")
        await shown.click(await button(shown, "Review and send…"))
        const dialog = await question(shown)
        const said = textOf(dialog)
        for (const part of ["evm:dev", "Test network", "3 calls", "Together 1.75 ETH", "All of them are made"])
          assert.include(said, part)
        assert.deepStrictEqual(
          shown.all("ol.entries > li", dialog).map((item) => textOf(item).replaceAll("Copy", "").trim()),
          [`0.5 ETH → ${receiver}`, `0 ETH → ${other} data 0xa9059cbb`, `1.25 ETH → ${receiver}`]
        )
        assert.notInclude(said, "a new contract")
        await shown.click(await button(shown, "Send", dialog))
        await shown.until("the page of the transaction", () => shown.route().startsWith("transactions/"))
        assert.deepStrictEqual(
          shown.asked.map(({ body }) => body),
          [
            {
              value: "0",
              calls: [
                { to: receiver, value: "500000000000000000" },
                { to: other, value: "0", data: "0xa9059cbb" },
                { to: receiver, value: "1250000000000000000" }
              ]
            }
          ]
        )
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("shows the exact amount below each of its fields, and every digit before it sends", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const shown = yield* open({ answer: able(recorded) })
      const hints = () => shown.all(".field p.hint").map(textOf)
      yield* Effect.promise(async () => {
        await shown.goto("new/network")
        await enter(shown, "tip_cap", "25")
        assert.include(hints(), "= 25,000,000,000 wei", "of a field that is a number")
        await shown.goto("relayers/dev-evm/send")
        await shown.click(await button(shown, "Add calls"))
        for (const [index, value] of ["0.5000000001", "1.000000000000000001"].entries()) {
          await enter(shown, `calls-${index}-to`, receiver)
          await enter(shown, `calls-${index}-value`, value)
        }
        assert.includeMembers(hints(), ["= 500,000,000,100,000,000 wei", "= 1,000,000,000,000,000,001 wei"])
        await shown.click(await button(shown, "Review and send…"))
        const dialog = await question(shown)
        const amounts = () => shown.all(".amount", shown.document.querySelector("dialog") ?? undefined).map(textOf)
        assert.deepStrictEqual(amounts(), ["1.500000000100000001 ETH", "0.5000000001 ETH", "1.000000000000000001 ETH"])
        await shown.click(await button(shown, "Cancel", dialog))
        for (const index of [2, 1]) await shown.click(await button(shown, `Remove call ${index}`))
        await enter(shown, "to", receiver)
        await enter(shown, "value", "0.000000000000000001")
        await shown.click(await button(shown, "Review and send…"))
        await question(shown)
        assert.deepStrictEqual(amounts(), ["0.000000000000000001 ETH"])
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("shows the whole data of each call before it sends, so that receivers of tokens are seen", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const shown = yield* open({ answer: able(recorded) })
      /** A call of `transfer(address,uint256)`: 4 bytes, and two words of 32. */
      const transferTo = (address: string) =>
        `0xa9059cbb${address.slice(2).toLowerCase().padStart(64, "0")}${"7".padEnd(6, "0").padStart(64, "0")}`
      const data = [receiver, other].map(transferTo)
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-evm/send")
        await shown.click(await button(shown, "Add calls"))
        for (const [index, given] of data.entries()) {
          await enter(shown, `calls-${index}-to`, executor)
          await enter(shown, `calls-${index}-data`, given)
        }
        await shown.click(await button(shown, "Review and send…"))
        const dialog = await question(shown)
        assert.deepStrictEqual(
          shown.all("ol.entries > li .wrap", dialog).map((one) => textOf(one)),
          data
        )
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect(
    "says beside each input of a call what is wrong with it, by the console, the contract and the service",
    () =>
      Effect.gen(function* () {
        const { open, recorded } = yield* ConsoleWindow
        const answer = able(recorded)
        const error = "calls.1.to: cannot be the relayer's own address: calls of the account to itself cannot be nested"
        const shown = yield* open({
          answer: (asked) =>
            asked.method === "POST" ? new Whole({ success: false, message: "Invalid", error }, 400) : answer(asked)
        })
        yield* Effect.promise(async () => {
          await shown.goto("relayers/dev-evm/send")
          await shown.click(await button(shown, "Add calls"))
          await enter(shown, "calls-0-value", "1,5")
          await shown.click(await button(shown, "Review and send…"))
          await shown.shows("This field is required.", ".call .problem bdi")
          assert.strictEqual(problemAt(shown, "calls-0-to"), "This field is required.")
          assert.strictEqual(
            problemAt(shown, "calls-0-value"),
            "Enter a decimal number such as 1.5, without a sign or a comma."
          )
          await enter(shown, "calls-0-value", "")
          await enter(shown, "calls-0-to", receiver.replace("C8", "c8"))
          await enter(shown, "calls-1-to", "0xab")
          await enter(shown, "calls-1-data", "0xabc")
          const review = await button(shown, "Review and send…")
          await shown.click(review)
          await shown.until("the problem", () => /0x and two hex digits/.test(problemAt(shown, "calls-1-data")))
          assert.match(problemAt(shown, "calls-1-to"), /address/)
          assert.isNull(shown.document.querySelector("dialog"), "what the contract refuses gets no second look")
          assert.isEmpty(shown.asked)
          await shown.click(await button(shown, "Remove call 2"))
          await enter(shown, "calls-0-to", receiver)
          await shown.click(review)
          await shown.shows(/2 to 50 calls/, ".field .problem")
          await shown.click(await button(shown, "Add a call"))
          await enter(shown, "calls-1-to", other)
          await shown.click(review)
          await shown.click(await button(shown, "Send", await question(shown)))
          await shown.until("the problem", () => /cannot be nested/.test(problemAt(shown, "calls-1-to")))
          assert.isEmpty(shown.all(".form > .problems"), "no problem is shown twice")
          assert.deepStrictEqual(shown.problems, [])
        })
      })
  )

  it.effect("reads pasted authorizations, says what each does, and sends them as they were pasted", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const shown = yield* open({ answer: able(recorded) })
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-evm/send")
        await enter(shown, "to", receiver)
        await enter(shown, "authorization_list", `${JSON.stringify(authorization)}\n${JSON.stringify(ofViem)}`)
        await shown.click(await button(shown, "Review and send…"))
        const dialog = await question(shown)
        const said = textOf(dialog).replaceAll("Copy", "").replaceAll(/ +/g, " ")
        assert.include(said, `Authorization 1runs the code of ${executor} · nonce 7 · valid on chain 31337`)
        assert.include(said, `Authorization 2runs the code of ${executor} · nonce 7 · valid on every chain`)
        assert.include(said, "Everybody who sees an authorization can use it")
        await shown.click(await button(shown, "Send", dialog))
        await shown.until("the request", () => shown.asked[0])
        const list = fieldOf(shown.asked[0]?.body, "authorization_list") as ReadonlyArray<unknown>
        assert.deepStrictEqual(
          list.map((entry) => [fieldOf(entry, "chain_id"), fieldOf(entry, "y_parity"), fieldOf(entry, "s")]),
          [
            [31_337, 0, scalar],
            [0, 1, scalar]
          ]
        )
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("names each wrong part of an authorization at its field, and sends nothing", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const shown = yield* open({ answer: able(recorded) })
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-evm/send")
        await enter(shown, "to", receiver)
        for (const [pasted, place, message] of [
          [`{ address: '${executor}', chainId: 1, v: 27n }`, "", /how JavaScript prints an object/],
          ["0xzz", "", /Enter a list of authorizations/],
          ["0xab", "authorization_list.0", /RLP of the six fields/],
          [`[{"r": 12345678901234567890}]`, "authorization_list.0.r", /is a JSON number: send hex strings/],
          [JSON.stringify({ ...authorization, y_parity: 2 }), "authorization_list.0.y_parity", /Expected 0 or 1/],
          [JSON.stringify({ ...authorization, s: `0x${"f".repeat(64)}` }), "authorization_list.0.s", /curve/]
        ] as const) {
          await enter(shown, "authorization_list", pasted)
          await shown.click(await button(shown, "Review and send…"))
          const field = () => shown.all(".field.wrong").find((one) => textOf(one).startsWith("authorization_list"))
          await shown.until(`${place} ${message}`, () => message.test(textOf(field())))
          assert.include(textOf(field()), place)
          assert.isNull(shown.document.querySelector("dialog"))
        }
        assert.isEmpty(shown.asked)
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("takes calls while a change of the delegation is open, as the service does", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      const shown = yield* open({
        answer: ({ path }) =>
          path === `${relayerPath}/delegation`
            ? { is_final: false, open_transaction_id: transactionIds.evm }
            : undefined
      })
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-evm/send")
        await button(shown, "Add calls")
        assert.isEmpty(shown.named("a", "Delegation"))
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("leaves out what would be refused, and says what it needs", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      const shown = yield* open()
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-evm/send")
        await shown.shows(/^To make several calls at once, the account has to delegate to an executor first/, "p.mut")
        await shown.shows(/^Authorizations of other accounts .*allowed_delegates of the policy is empty\.$/, "p.mut")
        for (const field of ["calls", "authorization_list"])
          assert.isNull(shown.document.querySelector(`#field-${field}`), field)
        const [link] = shown.named("a", "Delegation")
        assert.strictEqual(link?.getAttribute("href"), "/console/relayers/dev-evm/delegation")
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )
})

layer(ConsoleWindow.layer, { excludeTestServices: true })("the page of a transaction", (it) => {
  it.effect("lists its calls, and speeds it up with the same calls", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const { to: _, ...whole } = recorded(transactionPath) as { readonly to?: string }
      const calls = [
        { to: receiver.toLowerCase(), value: "500000000000000000" },
        { to: other.toLowerCase(), value: "0", data: "0xa9059cbb" }
      ]
      const prices = { gas_price: undefined, max_fee_per_gas: "40000000000", max_priority_fee_per_gas: "1000000000" }
      const many = { ...whole, ...prices, status: "submitted", value: "0x6f05b59d3b20000", calls }
      const shown = yield* open({
        answer: ({ method, path }) => (path === transactionPath || method === "PUT" ? many : undefined)
      })
      yield* Effect.promise(async () => {
        await shown.goto(`transactions/${transactionIds.evm}?relayer=dev-evm`)
        await shown.shows(/^2 calls, 0\.5 ETH · from dev-evm/, ".sub")
        const items = await shown.until("the calls", () => {
          const found = shown.all("ol.entries > li")
          return found.length > 0 && found
        })
        assert.deepStrictEqual(
          items.map((item) => textOf(item).replaceAll("Copy", "").trim()),
          [`0.5 ETH → ${receiver.toLowerCase()}`, `0 ETH → ${other.toLowerCase()} data 0xa9059cbb`]
        )
        await shown.click(await button(shown, "Speed up"))
        const dialog = await question(shown)
        await shown.click(await button(shown, "Speed up", dialog))
        const { body } = await shown.until("the request", () => shown.asked[0])
        assert.deepStrictEqual(fieldOf(body, "calls"), calls)
        assert.isUndefined(fieldOf(body, "to"))
        assert.strictEqual(fieldOf(body, "value"), "0")
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("says what a delegation does, and offers neither a higher price nor the cancel of a signed one", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      let delegate = executor.toLowerCase()
      const shown = yield* open({
        answer: ({ path }) =>
          path === transactionPath ? { ...objectOf(recorded(path)), status: "submitted", delegate } : undefined
      })
      yield* Effect.promise(async () => {
        const route = `transactions/${transactionIds.evm}?relayer=dev-evm`
        await shown.goto(route)
        await shown.shows(/^delegates its account to 0x5aaeb6…/, ".sub")
        const actions = shown.all(".act button").map(textOf)
        assert.include(actions.join("|"), "Speed up: The service raises the price of a delegation itself.")
        assert.include(actions.join("|"), "Cancel…: A delegation that is signed cannot be canceled")
        delegate = `0x${"00".repeat(20)}`
        await shown.goto("relayers")
        await shown.goto(`${route}&again`)
        await shown.shows(/^ends the delegation of its account · from/, ".sub")
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("takes no answer about a delegation from a session that may not delegate, and says why", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const undecided = { status: "submitted", code: "nonce_taken_unproven" }
      const delegate = executor.toLowerCase()
      const scopes = ["relayers:read", "transactions:read", "transactions:write"] as const
      for (const [own, given, isRefused] of [
        [{ delegate }, scopes, true],
        [{}, scopes, false],
        [{ delegate }, ["*"], false]
      ] as const) {
        const shown = yield* open({
          scopes: given,
          answer: ({ path }) =>
            path === transactionPath ? { ...objectOf(recorded(path)), ...undecided, ...own } : undefined
        })
        yield* Effect.promise(async () => {
          await shown.goto(`transactions/${transactionIds.evm}?relayer=dev-evm`)
          for (const name of ["Send again", "Give up"]) {
            const action = await shown.until(name, () =>
              shown.all(".act button").find((one) => textOf(one).startsWith(name))
            )
            assert.strictEqual(action.getAttribute("aria-disabled"), String(isRefused), name)
            assert.strictEqual(textOf(action).includes("A change needs a key for all relayers"), isRefused, name)
            await shown.click(action)
            assert.strictEqual(shown.document.querySelector("dialog[open]") === null, isRefused, name)
            for (const cancel of shown.named("dialog button", "Cancel")) await shown.click(cancel)
          }
          assert.deepStrictEqual(shown.problems, [])
        })
      }
    })
  )

  it.effect("says in the question about a cancel that authorizations stay usable", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const authorizations = [{ authority: other.toLowerCase(), address: executor.toLowerCase(), delegated: null }]
      const shown = yield* open({
        answer: ({ path }) =>
          path === transactionPath ? { ...objectOf(recorded(path)), status: "submitted", authorizations } : undefined
      })
      yield* Effect.promise(async () => {
        await shown.goto(`transactions/${transactionIds.evm}?relayer=dev-evm`)
        await shown.click(await button(shown, "Cancel…"))
        assert.include(textOf(await question(shown)), "Everybody who sees an authorization can use it")
      })
    })
  )
})

describe("pasted authorizations", () => {
  it("are one object, a list, or one entry per line, with or without commas and quotes", () => {
    const text = JSON.stringify(authorization)
    for (const pasted of [text, `[${text}]`, `${text},\n`, JSON.stringify(authorization, null, 2)])
      assert.deepStrictEqual(authorizationsOf(pasted), { value: [authorization] })
    assert.deepStrictEqual(authorizationsOf(`0xf85c\n"0xab",\n${text}`), { value: ["0xf85c", "0xab", authorization] })
  })

  it("say nothing of an entry that cannot be read", () => {
    assert.deepStrictEqual(delegatesIn([{ ...authorization, r: 1 }]), [undefined])
    assert.strictEqual(delegatesIn([ofViem])[0]?.chainId, 0)
  })
})

describe("what a transaction moves", () => {
  it("is what each of its calls moves", () => {
    const ether = { ...smallestUnits.evm, symbol: "ETH" }
    const calls = [{ to: receiver, value: "5" }, { to: other }]
    assert.deepStrictEqual(
      movesOf("evm", { value: "0x5", calls }, ether).map(({ amount, to }) => [amount, to]),
      [
        [5n, receiver],
        [0n, other]
      ]
    )
  })
})
