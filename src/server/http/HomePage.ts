// The start page of an instance, as HTML without scripts.
import type { Readiness } from "../../api/SystemApi.ts"

const links = [
  ["docs", "API documentation", "every endpoint, with examples and a client"],
  ["openapi.json", "OpenAPI 3.1, JSON", "the same for programs"],
  ["openapi.yaml", "OpenAPI 3.1, YAML", "the same for programs"],
  ["api/v1/ready", "Readiness", "the state of each component and job"],
  ["v1/health", "Health", "OK while the process runs"],
  ["metrics", "Metrics", "names; with <code>Accept: text/plain</code> the values, for Prometheus"]
] as const

const toConsole = ["console", "Console", "what needs attention, relayers, transactions, webhooks"] as const

export interface Options {
  readonly hasConsole: boolean
}

const states: Record<Readiness["status"], string> = {
  healthy: "every component works",
  degraded: "requests are answered, but a component or job does not work",
  unhealthy: "the database does not answer, or the process is about to stop"
}

const style = `
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
  body { max-width: 40rem; margin: 10vh auto; padding: 0 1rem }
  h1 { display: flex; align-items: center; gap: .6rem; font-size: 1.6rem }
  dt { margin-top: .8rem } dd { margin: 0; opacity: .75 }
  .healthy { color: #15803d } .degraded { color: #b45309 } .unhealthy { color: #b91c1c }`

/** The icon of the service. */
export const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1d4ed8"/><path d="M7 16h11m-5-6 6 6-6 6" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/><circle cx="24" cy="16" r="3" fill="#fff"/></svg>`

const listOf = (base: string, { hasConsole }: Options): string =>
  [...(hasConsole ? [toConsole] : []), ...links]
    .map(([path, name, about]) => `<dt><a href="${base}${path}">${name}</a></dt><dd>${about}</dd>`)
    .join("\n    ")

/** `base`: the path of the page with a slash at its end. */
export const html = (base: string, { status, version }: Readiness, options: Options): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>effect-relayer</title>
    <link rel="icon" type="image/svg+xml" href="${base}favicon.ico" />
    <style>${style}</style>
  </head>
  <body>
    <h1>effect-relayer ${version}</h1>
    <p>This instance is <strong class="${status}">${status}</strong>: ${states[status]}.</p>
    <dl>
    ${listOf(base, options)}
    </dl>
  </body>
</html>
`
