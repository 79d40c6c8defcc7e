// The console: what a person sees before something is sent, changed or deleted, and how amounts are written.
// The bundle of the console in its window runs by the clock of the machine.
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { amountsIn, smallestUnits } from "../../web/src/data/Amounts.ts"
import { movesOf } from "../../web/src/data/Moves.ts"
import { ConsoleWindow, Whole, fieldOf, objectOf, textOf, transactionIds } from "../../testkit/ConsoleWindow.ts"
import type { Shown } from "../../testkit/ConsoleWindow.ts"

const receiver = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"

/** A page with all of them. */
const listOf = (data: ReadonlyArray<object>) =>
  new Whole({ success: true, data, pagination: { current_page: 1, per_page: 1000, total_items: data.length } })

const button = (shown: Shown, name: string, within?: Parameters<Shown["named"]>[2]) =>
  shown.until(name, () => shown.named("button", name, within)[0])

const question = (shown: Shown) => shown.until("a question", () => shown.document.querySelector("dialog[open]"))

const enter = async (shown: Shown, field: string, value: string) =>
  shown.enter(await shown.until(field, () => shown.document.querySelector(`[id="field-${field}"]`)), value)

layer(ConsoleWindow.layer, { excludeTestServices: true })("a page of the console", (it) => {
  it.effect("shows network, amount and receiver before it sends, and sends once", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const sent = recorded(`/api/v1/relayers/dev-evm/transactions/${transactionIds.evm}`)
      const shown = yield* open({
        answer: ({ method, path }) => (method === "POST" && path.endsWith("/transactions") ? sent : undefined)
      })
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-evm/send")
        await enter(shown, "to", receiver)
        await enter(shown, "value", "0.5")
        await enter(shown, "max_fee_per_gas", "40")
        await shown.click(await button(shown, "Review and send…"))
        const dialog = await question(shown)
        const said = textOf(dialog)
        for (const part of [
          "evm:dev",
          "Test network",
          "Amount0.5 ETH",
          `Receiver${receiver}`,
          "max_fee_per_gas40 gwei"
        ])
          assert.include(said, part)
        assert.isEmpty(shown.asked)
        await shown.click(await button(shown, "Cancel", dialog))
        assert.isEmpty(shown.asked)
        await shown.click(await button(shown, "Review and send…"))
        const send = await button(shown, "Send", await question(shown))
        await shown.click(send)
        await shown.until("the page of the transaction", () => shown.route().startsWith("transactions/"))
        assert.deepStrictEqual(
          shown.asked.map(({ body }) => [fieldOf(body, "to"), fieldOf(body, "value")]),
          [[receiver, "500000000000000000"]]
        )
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("marks a main network before it sends, and says that the relayer is paused", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const networks = recorded("/api/v1/networks") as ReadonlyArray<object>
      const relayer = { ...(recorded("/api/v1/relayers/dev-evm") as object), paused: true }
      const shown = yield* open({
        answer: ({ path }) => {
          if (path === "/api/v1/networks") return listOf(networks.map((network) => ({ ...network, is_testnet: false })))
          return path === "/api/v1/relayers/dev-evm" ? relayer : undefined
        }
      })
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-evm/send")
        await shown.shows(
          "This relayer is paused: the service refuses new transactions with 403 until the relayer is resumed."
        )
        await enter(shown, "to", receiver)
        await shown.click(await button(shown, "Review and send…"))
        const said = textOf(await question(shown))
        assert.include(said, "Main network: real money", said)
        assert.include(said, "Amount0 ETH")
      })
    })
  )

  it.effect("links no explorer for a private transaction, and makes it public after a question", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const path = `/api/v1/relayers/dev-evm/transactions/${transactionIds.evm}`
      const { block_number: _, ...whole } = recorded(path) as {
        readonly block_number?: number
        readonly attempts: ReadonlyArray<object>
      }
      const attempts = whole.attempts.map((attempt) => ({ ...attempt, block_number: undefined }))
      const transaction = { ...whole, attempts, status: "submitted", route: "private", confirmed_at: undefined }
      const networks = recorded("/api/v1/networks") as ReadonlyArray<object>
      const explored = networks.map((network) => ({ ...network, explorer_urls: ["https://scan.example"] }))
      const shown = yield* open({
        answer: ({ path: asked }) => {
          if (asked === "/api/v1/networks") return listOf(explored)
          return asked === path || asked === `${path}/route` ? transaction : undefined
        }
      })
      yield* Effect.promise(async () => {
        await shown.goto(`transactions/${transactionIds.evm}`)
        const publish = await button(shown, "Make public…")
        assert.notInclude(shown.document.body.innerHTML, "scan.example")
        await shown.click(publish)
        await shown.click(await button(shown, "Send publicly", await question(shown)))
        await shown.until("the request", () => shown.asked[0])
        assert.deepStrictEqual(
          shown.asked.map(({ path, body }) => [path, fieldOf(body, "route")]),
          [[`${path}/route`, "public"]]
        )
      })
    })
  )

  it.effect("offers a private send if a private RPC URL gets it, and says if the policy makes each one private", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const relayer = recorded("/api/v1/relayers/dev-evm") as object
      const networks = recorded("/api/v1/networks") as ReadonlyArray<object>
      const urls = (name: string, weight = 100) => [{ url: `https://${name}.example/***`, weight }]
      const opened = (own: object, shared: object = {}) =>
        open({
          answer: ({ method, path }) => {
            if (method === "POST") return recorded(`/api/v1/relayers/dev-evm/transactions/${transactionIds.evm}`)
            if (path === "/api/v1/networks") return listOf(networks.map((network) => ({ ...network, ...shared })))
            return path === "/api/v1/relayers/dev-evm" ? { ...relayer, ...own } : undefined
          }
        })
      const field = async (shown: Shown) => {
        await shown.goto("relayers/dev-evm/send")
        await shown.until("the form", () => shown.document.querySelector("#field-to"))
        return shown.document.querySelector("#field-private")
      }
      const shared = { private_rpc_urls: urls("shared") }
      const without = yield* opened({})
      const unused = yield* opened({ custom_private_rpc_urls: urls("own", 0) }, shared)
      const policies = { private_transactions: true, private_fallback_after_seconds: 120 }
      const each = yield* opened({ custom_private_rpc_urls: urls("own"), policies }, shared)
      const refused = yield* opened({ policies })
      const some = yield* opened({}, shared)
      yield* Effect.promise(async () => {
        assert.isNull(await field(without))
        assert.isNull(await field(unused), "those of the relayer stand for those of its network, and get nothing")
        assert.isNull(await field(each))
        await each.shows("The policy of this relayer makes each send private.")
        await each.goto("relayers/dev-evm")
        await each.shows("https://own.example/*** for each send; public after 120 s", "dd")
        await refused.goto("relayers/dev-evm")
        await refused.shows("none: its sends are refused", "dd .tag.bad")
        await some.goto("relayers/dev-evm")
        await some.shows("https://shared.example/*** for sends that ask for it", "dd")
        assert.isNotNull(await field(some))
        await enter(some, "to", receiver)
        await enter(some, "private", "true")
        await some.click(await button(some, "Review and send…"))
        const dialog = await question(some)
        assert.include(textOf(dialog), "privatetrue")
        await some.click(await button(some, "Send", dialog))
        await some.until("the request", () => some.asked[0])
        assert.isTrue(fieldOf(some.asked[0]?.body, "private"))
      })
    })
  )

  it.effect("changes the private RPC URLs of a relayer, and shows at its field why a value is refused", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      const error = "custom_private_rpc_urls.0.url: has useMempool, with which the endpoint publishes transactions"
      const refusal = new Whole({ success: false, data: null, error }, 400)
      const shown = yield* open({ answer: ({ method }) => (method === "PATCH" ? refusal : undefined) })
      const url = "https://rpc.example/?useMempool=true"
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-evm/urls")
        await enter(shown, "custom_private_rpc_urls", url)
        const region = await shown.until("the form", () => shown.region("Private RPC URLs"))
        await shown.click(await button(shown, "Save", region))
        await shown.shows(/has useMempool/, ".problem, .problems li")
        assert.deepStrictEqual(shown.asked[0]?.body, { custom_private_rpc_urls: [{ url, weight: 100 }] })
        await shown.goto("relayers/dev-evm/policies")
        const before = shown.asked.length
        await enter(shown, "private_fallback_after_seconds", "2m")
        await shown.click(await button(shown, "Save"))
        await shown.shows("Enter a whole number.", ".problem")
        assert.lengthOf(shown.asked, before)
        await shown.goto("networks/evm%3Adev")
        await shown.until("the field", () => shown.document.querySelector("#field-private_rpc_urls"))
        await shown.goto("networks/solana%3Adev")
        await shown.until("the field", () => shown.document.querySelector("#field-rpc_urls"))
        assert.isNull(shown.document.querySelector("#field-private_rpc_urls"))
        await shown.goto("relayers/dev-solana/urls")
        await shown.until("the field", () => shown.document.querySelector("#field-rpc_urls"))
        assert.isUndefined(shown.region("Private RPC URLs"))
      })
    })
  )

  it.effect("shows the problems of a send that is refused at their fields", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      const refusal = new Whole({ success: false, data: null, error: "to: is not in whitelist_receivers" }, 400)
      const shown = yield* open({ answer: ({ method }) => (method === "POST" ? refusal : undefined) })
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-evm/send")
        await enter(shown, "to", receiver)
        await shown.click(await button(shown, "Review and send…"))
        await shown.click(await button(shown, "Send", await question(shown)))
        await shown.shows("is not in whitelist_receivers", ".problem")
        assert.isNull(shown.document.querySelector("dialog[open]"))
      })
    })
  )

  it.effect("changes the name of a relayer, and the webhook that gets its events", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const relayer = recorded("/api/v1/relayers/dev-evm")
      const webhook = { id: "ops", type: "webhook", url: "https://ops.example", paused: false, has_signing_key: false }
      const shown = yield* open({
        answer: ({ method, path }) => {
          if (path === "/api/v1/notifications") return listOf([webhook])
          return method === "PATCH" ? relayer : undefined
        }
      })
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-evm/settings")
        await enter(shown, "name", "Payouts")
        await enter(shown, "notification_id", "ops")
        await shown.shows("What changes", "h3")
        await shown.click(await button(shown, "Save"))
        await shown.until("the change", () => shown.asked.length > 0)
        assert.deepStrictEqual(shown.asked[0]?.body, { name: "Payouts", notification_id: "ops" })
      })
    })
  )

  it.effect("deletes a signer after its id was typed, and says what is lost", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      const shown = yield* open({
        answer: ({ method }) => (method === "DELETE" ? "Signer deleted successfully" : undefined)
      })
      yield* Effect.promise(async () => {
        await shown.goto("signers/dev-evm")
        await shown.click(await button(shown, "Delete…"))
        const dialog = await question(shown)
        assert.include(textOf(dialog), "lost forever unless you have a copy of it")
        const confirm = await button(shown, "Delete", dialog)
        await shown.click(confirm)
        assert.isEmpty(shown.asked)
        const field = await shown.until("the field", () => dialog.querySelector("input"))
        await shown.enter(field, "dev-evm")
        await shown.click(confirm)
        await shown.until("the list", () => shown.route() === "signers")
        assert.deepStrictEqual(
          shown.asked.map(({ method, path }) => `${method} ${path}`),
          ["DELETE /api/v1/signers/dev-evm"]
        )
      })
    })
  )

  it.effect("lists transactions with amount, receiver and network, and marks those that wait", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const [stellar, solana, evm] = recorded("/api/v1/transactions") as ReadonlyArray<object>
      const waiting = { ...evm, id: crypto.randomUUID(), status: "pending", code: "insufficient_funds" }
      const shown = yield* open({
        answer: ({ path }) => (path === "/api/v1/transactions" ? [waiting, stellar, solana, evm] : undefined)
      })
      yield* Effect.promise(async () => {
        await shown.goto("transactions")
        await shown.shows("0.001 ETH", "td")
        const rows = shown.all("tbody tr").map(textOf)
        assert.match(rows[0] ?? "", /^Waits.*dev-evm ?evm:dev.*0\.001 ETH0x709979…79c8.*insufficient_funds/)
        assert.match(rows[2] ?? "", /^Confirmed.*dev-solana ?solana:dev.*0\.001 SOLUS517G59…ELFx/)
        assert.match(rows[3] ?? "", /^Confirmed/)
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("offers the relayers that exist to a key that is limited to some", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      const shown = yield* open({ answer: ({ method }) => (method === "POST" ? {} : undefined) })
      yield* Effect.promise(async () => {
        await shown.goto("new/key")
        await enter(shown, "name", "payouts")
        const box = (name: string) =>
          shown.until(name, () =>
            shown
              .all("label")
              .find((label) => textOf(label).split(" ")[0] === name)
              ?.querySelector("input")
          )
        await shown.click(await box("dev-evm"))
        await shown.click(await box("transactions:read"))
        await shown.click(await button(shown, "Create"))
        await shown.until("the request", () => shown.asked.length > 0)
        assert.deepStrictEqual(fieldOf(shown.asked[0]?.body, "relayer_ids"), ["dev-evm"])
      })
    })
  )

  it.effect("takes the limits of a key in units of their networks, folded, and its end in UTC", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      const shown = yield* open({ answer: ({ method }) => (method === "POST" ? {} : undefined) })
      yield* Effect.promise(async () => {
        await shown.goto("new/key")
        const limits = await shown.until("the limits", () => shown.document.querySelector(".form details"))
        assert.isFalse(limits.hasAttribute("open"))
        assert.strictEqual(textOf(limits.querySelector("summary")), "Limits of what it may send (optional)")
        assert.lengthOf(shown.all(".field", limits), 10)
        await enter(shown, "name", "payouts")
        await enter(shown, "expires_at", "2036-01-01T12:30")
        await shown.unfold(limits)
        await enter(shown, "transaction_limits.max_value", "1.5")
        await enter(shown, "transaction_limits.solana.max_value", "2")
        await enter(shown, "transaction_limits.stellar.max_fee_per_day", "0.5")
        assert.include(textOf(limits), "= 1,500,000,000,000,000,000 wei")
        assert.include(textOf(limits), "= 2,000,000,000 lamport")
        const box = await shown.until("transactions:read", () =>
          shown.all("label").find((label) => textOf(label).startsWith("transactions:read "))
        )
        await shown.click(box.querySelector("input") ?? box)
        await shown.click(await button(shown, "Create"))
        await shown.until("the request", () => shown.asked.length > 0)
        assert.deepInclude(objectOf(shown.asked[0]?.body), {
          expires_at: "2036-01-01T12:30:00.000Z",
          transaction_limits: {
            max_value: "1500000000000000000",
            solana: { max_value: "2000000000" },
            stellar: { max_fee_per_day: "5000000" }
          }
        })
      })
    })
  )

  it.effect("lists each signer with one address, and the others folded", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      const shown = yield* open()
      yield* Effect.promise(async () => {
        await shown.goto("signers")
        const row = await shown.until("dev-evm", () =>
          shown.all("tbody tr").find((row) => textOf(row).startsWith("dev-evm"))
        )
        const more = row.querySelector("details")
        assert.lengthOf(shown.all(".two", row), 3)
        assert.strictEqual(textOf(more?.querySelector("summary")), "2 more")
        assert.lengthOf(shown.all(".two", more ?? undefined), 2)
      })
    })
  )

  it.effect("asks once for a relayer that is not there", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      const asked: Array<string> = []
      const shown = yield* open({
        answer: ({ path }) => {
          if (!path.startsWith("/api/v1/relayers/gone")) return undefined
          asked.push(path)
          return new Whole({ success: false, data: null, message: "Relayer not found" }, 404)
        }
      })
      yield* Effect.promise(async () => {
        await shown.goto("relayers/gone")
        await shown.shows("Nothing here has this id, or this key may not see it", ".failed b")
        await shown.shows("gone", "h1")
        assert.deepStrictEqual(asked, ["/api/v1/relayers/gone"])
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("says that a relayer waits, and leads to the transaction that waits first", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const front = {
        transaction_id: transactionIds.evm,
        code: "gas_price_above_cap",
        since: "2026-01-02T03:04:05.678Z",
        count: 3
      }
      const said = {
        ...(recorded("/api/v1/relayers/dev-evm/explain") as object),
        state: "waiting",
        code: "transaction_waits",
        reason: "Transaction x waits. The base fee of the next block is 42000000000 wei per gas.",
        front
      }
      const shown = yield* open({ answer: ({ path }) => (path.endsWith("dev-evm/explain") ? said : undefined) })
      yield* Effect.promise(async () => {
        await shown.goto("relayers/dev-evm")
        await shown.shows("Transaction x waits. The base fee of the next block is 42 gwei per gas.", ".say.warn b")
        await shown.shows("Waits", "h1 .tag")
        const link = await shown.until("the link", () => shown.named("a", "Open transaction")[0])
        assert.include(link.getAttribute("href"), transactionIds.evm)
      })
    })
  )

  it.effect("shows in the colour of a failure that a receiver has not accepted a test", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const [webhook] = recorded("/api/v1/notifications") as ReadonlyArray<unknown>
      const shown = yield* open({
        answer: ({ method, path }) => {
          if (method === "POST")
            return {
              id: crypto.randomUUID(),
              at: "2026-01-02T03:04:05.678Z",
              ms: 12,
              outcome: "rejected",
              status: 500,
              answer: "no"
            }
          if (path === "/api/v1/notifications/ops")
            return (
              webhook ?? {
                id: "ops",
                type: "webhook",
                url: "https://ops.example",
                paused: false,
                has_signing_key: false
              }
            )
          if (path.endsWith("/statistics")) return { steps: [], complete: true, pending: 0 }
          return path.endsWith("/deliveries") ? [] : undefined
        }
      })
      yield* Effect.promise(async () => {
        await shown.goto("webhooks/ops")
        await shown.click(await button(shown, "Send a test"))
        await shown.shows("The receiver has not accepted the test", ".say.bad b")
      })
    })
  )
})

const ether = { ...smallestUnits.evm, symbol: "ETH" }

describe("an amount in a sentence of the service", () => {
  it("is read with the unit of its network, and a price of gas in gwei", () => {
    const text =
      "It needs 1500000000000000000 wei. The base fee is 42000000000 wei per gas, and it may pay at most 40000000000 wei."
    assert.deepStrictEqual(amountsIn(text, ether), [
      "It needs ",
      { value: 1_500_000_000_000_000_000n, unit: ether },
      ". ",
      "The base fee is ",
      { value: 42_000_000_000n, unit: { symbol: "gwei", decimals: 9, smallest: "wei" } },
      " per gas",
      ", and it may pay at most ",
      { value: 40_000_000_000n, unit: { symbol: "gwei", decimals: 9, smallest: "wei" } },
      "."
    ])
  })

  it("has the symbol of solana and stellar, and none if the evm network is not known", () => {
    const units = ["5 lamports", "1 stroop", "7 wei"].map((text) => amountsIn(text)[1])
    assert.deepStrictEqual(units, [
      { value: 5n, unit: smallestUnits.solana },
      { value: 1n, unit: smallestUnits.stellar },
      { value: 7n, unit: { ...smallestUnits.evm, symbol: "× 10¹⁸ wei" } }
    ])
    assert.deepStrictEqual(amountsIn("at least 100 gwei, and weird"), ["at least 100 gwei, and weird"])
  })
})

describe("what a transaction moves", () => {
  it("is the payments of stellar, with the code of a credit", () => {
    const operations = [
      { type: "payment", destination: "GA", amount: "10000000", asset: { type: "native" } },
      { type: "payment", destination: "GB", amount: "5", asset: { type: "credit4", code: "USDC", issuer: "GI" } },
      { type: "invoke_contract" }
    ]
    assert.deepStrictEqual(
      movesOf("stellar", { operations }, ether).map(({ amount, to, unit }) => [amount, unit.symbol, to]),
      [
        [10_000_000n, "XLM", "GA"],
        [5n, "USDC", "GB"]
      ]
    )
  })

  it("is not known of other instructions of solana, nor of bytes that are no base64", () => {
    const program_id = "11111111111111111111111111111111"
    for (const data of ["AwAAAEBCDwAAAAAA", "AgAAAA==", "%"])
      assert.isEmpty(movesOf("solana", { instructions: [{ program_id, accounts: [], data }] }, ether), data)
  })
})
