// The console: words that depend on the network, silent instances, links to explorers, and where repairs and references lead.
// The bundle of the console in its window runs by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { ConsoleWindow, Whole, fieldOf, objectOf, textOf, transactionIds } from "../../testkit/ConsoleWindow.ts"

const links = { evm: "Nonces", stellar: "Sequences" } as const

const transactionOf = (type: keyof typeof transactionIds) => `relayers/dev-${type}/transactions/${transactionIds[type]}`

layer(ConsoleWindow.layer, { excludeTestServices: true })("the console", (it) => {
  it.effect("calls the place of a stellar transaction a sequence, and that of an evm transaction a nonce", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const shown = yield* open()
      yield* Effect.promise(async () => {
        for (const [type, name] of [
          ["stellar", "sequence"],
          ["evm", "nonce"]
        ] as const) {
          const data = recorded(`/api/v1/${transactionOf(type)}`)
          await shown.goto(`transactions/${transactionIds[type]}?relayer=dev-${type}`)
          const number = String(fieldOf(data, type === "evm" ? "nonce" : "sequence_number"))
          await shown.until(`${name} ${number}`, () =>
            textOf(shown.document.querySelector(".sub")).includes(`${name} ${number}`)
          )
          await shown.goto(`relayers/dev-${type}`)
          const [tab] = shown.named("nav[aria-label=Relayer] a", links[type])
          await shown.click(tab ?? assert.fail("no tab"))
          await shown.until(links[type], () => shown.region(links[type]))
          await shown.shows("Next to assign", "dt")
        }
        assert.include(textOf(shown.document.querySelector("#content")).toLowerCase(), "nonce")
        await shown.goto("relayers/dev-stellar/nonces")
        await shown.shows("Next to assign", "dt")
        assert.notInclude(textOf(shown.document.querySelector("#content")).toLowerCase(), "nonce")
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("marks the names in the sentences of a timeline as it does in those of an explanation", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const [event] = recorded("/api/v1/events") as ReadonlyArray<unknown>
      const held = {
        ...objectOf(event),
        type: "transaction.held",
        data: { code: "gas_price_above_cap", status_reason: "It may pay at most 1 wei, by `gas_price_cap`." }
      }
      const shown = yield* open({ answer: ({ path }) => (path === "/api/v1/events" ? [held] : undefined) })
      yield* Effect.promise(async () => {
        await shown.goto(`transactions/${transactionIds.evm}?relayer=dev-evm`)
        const more = await shown.shows(/It may pay at most 1 wei/, ".more bdi")
        assert.strictEqual(textOf(more), "gas_price_above_cap · It may pay at most 1 wei, by gas_price_cap.")
        assert.deepStrictEqual(shown.all("code", more).map(textOf), ["gas_price_cap"])
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("does not say that the jobs of a silent instance work", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const data = recorded("/api/v1/instances")
      assert(Array.isArray(data))
      const present = { ...objectOf(data[0]), last_seen_at: "2036-01-02T03:04:05.678Z" }
      const silent = {
        ...present,
        id: "00000000-0000-4000-8000-000000000000",
        is_this: false,
        last_seen_at: "2026-01-02T03:04:05.678Z"
      }
      const shown = yield* open({
        answer: ({ path }) => (path === "/api/v1/instances" ? [present, silent] : undefined)
      })
      yield* Effect.promise(async () => {
        await shown.goto("system")
        const rowWith = (text: string) =>
          shown.until(text, () =>
            shown.all("tbody tr", shown.region("Instances")).find((row) => textOf(row).includes(text))
          )
        assert.notInclude(textOf(await rowWith("Silent")), "All work")
        assert.include(textOf(await rowWith("answers this page")), "All work")
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect("makes no link of an explorer address that is a script, and sends no referrer to an explorer", () =>
    Effect.gen(function* () {
      const { open, recorded } = yield* ConsoleWindow
      const networks = recorded("/api/v1/networks")
      assert(Array.isArray(networks))
      const id = transactionIds.evm
      const outward = "#content a:not([href^='/console'])"
      for (const explorer of ["javascript:alert(1)", "https://scan.example/main"]) {
        const withExplorer = (network: unknown) => ({ ...objectOf(network), explorer_urls: [explorer] })
        const shown = yield* open({
          answer: ({ path }) => {
            if (path === "/api/v1/networks/evm%3Adev") return withExplorer(recorded(path))
            if (path !== "/api/v1/networks") return undefined
            const pagination = { current_page: 1, per_page: 1000, total_items: networks.length }
            return new Whole({ success: true, data: networks.map(withExplorer), pagination })
          }
        })
        yield* Effect.promise(async () => {
          await shown.goto(`transactions/${id}?relayer=dev-evm`)
          await shown.until("the attempts", () => shown.region("Attempts"))
          if (explorer.startsWith("javascript")) {
            assert.isEmpty(shown.all(outward))
            await shown.goto("networks/evm%3Adev")
            await shown.shows(explorer, "#content bdi")
            assert.isEmpty(shown.all(outward))
          } else {
            await shown.until("a link", () => shown.document.querySelector(outward))
            const hash = fieldOf(recorded(`/api/v1/${transactionOf("evm")}`), "hash")
            for (const link of shown.all(outward)) {
              assert.strictEqual(link.getAttribute("href"), `${explorer}/tx/${String(hash)}`)
              assert.strictEqual(link.getAttribute("rel"), "noopener noreferrer")
            }
          }
          assert.deepStrictEqual(shown.problems, [])
        })
      }
    })
  )

  it.effect("offers for each cause on the overview the page where its repair begins", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      const relayers = { count: 1, disabled: 0, degraded: 0, ids: ["dev-evm"] }
      const repairs = [
        ["relayers_disabled", "RpcValidationFailed", "/console/relayers/dev-evm/urls"],
        ["relayers_disabled", "BalanceCheckFailed", "/console/relayers/dev-evm"],
        ["providers", "ledger_stalled", "/console/relayers/dev-evm/urls"],
        ["providers", "landing_unproven", "/console/relayers/dev-evm/urls"],
        ["providers", "signer_unavailable", "/console/signers"],
        ["funds", "low_balance", "/console/relayers/dev-evm"],
        ["held", "gas_price_above_cap", "/console/relayers/dev-evm/policies"],
        ["decision", "nonce_ahead", "/console/relayers/dev-evm/nonces"],
        ["decision", "delegate_changed", "/console/relayers/dev-evm/delegation"],
        ["funds", "top_up_capped", "/console/relayers/dev-evm/policies"],
        ["funds", "payer_short", "/console/relayers/dev-evm"],
        ["receiver", "receiver_failing", "/console/webhooks/ops"],
        ["key_expires", "key_expires", "/console/keys/ops"],
        ["service", "jobs_unhealthy", "/console/system"],
        ["decision", "landing_unproven", "/console/transactions?code=landing_unproven"]
      ] as const
      const items = repairs.map(([kind, code]) => ({
        kind,
        code,
        relayers,
        transactions: { count: code === "landing_unproven" ? 1 : 0 },
        resource: { kind: kind === "receiver" ? "notification" : "key", id: "ops" },
        reason: `${kind} ${code}`,
        next: "Repair it."
      }))
      const shown = yield* open({ answer: ({ path }) => (path === "/api/v1/attention" ? items : undefined) })
      yield* Effect.promise(async () => {
        await shown.goto("")
        for (const [kind, code, href] of repairs) {
          const item = await shown.until(`${kind} ${code}`, () =>
            shown.all(".att").find((one) => textOf(one).includes(`${kind} ${code}`))
          )
          const actions = shown.all(".do a", item).map((link) => link.getAttribute("href"))
          assert.strictEqual(actions[0], href, code)
          assert.isAtMost(actions.length, 2, code)
        }
        assert.deepStrictEqual(shown.problems, [])
      })
    })
  )

  it.effect(
    "knows the network of a send through stellar, and leads from events and records to what they are about",
    () =>
      Effect.gen(function* () {
        const { open } = yield* ConsoleWindow
        const shown = yield* open()
        yield* Effect.promise(async () => {
          await shown.goto("relayers/dev-stellar/send")
          const network = await shown.until("the network", () => shown.document.querySelector("#field-network"))
          assert.strictEqual(Reflect.get(network, "value"), "dev")
          for (const route of ["events", "audit"]) {
            await shown.goto(route)
            for (const place of ["relayers/dev-evm", "signers/dev-evm", "networks/evm%3Adev"]) {
              await shown.until(place, () => shown.document.querySelector(`tbody a[href="/console/${place}"]`))
            }
          }
          const record = await shown.until("the change", () =>
            shown.all("tbody tr").find((row) => textOf(row).includes("relayer.updated"))
          )
          record.querySelector("details")?.setAttribute("open", "")
          await shown.until("the field", () => textOf(record).includes("policies.min_balance"))
          assert.notMatch(textOf(record), /[{}]/, "a policy is a line for each field, not JSON")
          assert.deepStrictEqual(shown.problems, [])
        })
      })
  )
})
