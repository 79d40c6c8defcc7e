// The page of a webhook without a signing key.
// The bundle of the console in its window runs by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { ConsoleWindow, Whole, textOf } from "../../testkit/ConsoleWindow.ts"

const webhook = (id: string, has_signing_key: boolean) => ({
  id,
  type: "webhook",
  url: "https://hooks.example/***",
  has_signing_key
})

const none = new Whole({ success: true, data: [], pagination: { current_page: 1, per_page: 100, total_items: 0 } })

const statistics = { steps: [], pending: 0, failed: 0, delivered: 0 }

layer(ConsoleWindow.layer, { excludeTestServices: true })("the page of a webhook", (it) => {
  it.effect("says that its webhooks are not signed, unless it has a key", () =>
    Effect.gen(function* () {
      const { open } = yield* ConsoleWindow
      const shown = yield* open({
        answer: ({ path }) => {
          if (path.endsWith("/deliveries")) return none
          if (path.endsWith("/statistics")) return statistics
          if (path.endsWith("/notifications/open")) return webhook("open", false)
          return path.endsWith("/notifications/closed") ? webhook("closed", true) : undefined
        }
      })
      yield* Effect.promise(async () => {
        await shown.goto("webhooks/open")
        await shown.shows(/Its webhooks are not signed\./u)
        await shown.goto("webhooks/closed")
        await shown.shows("closed", "h1 bdi")
        assert.notInclude(textOf(shown.document.body), "not signed")
      })
    })
  )
})
