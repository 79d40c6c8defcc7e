// Checks that a host is this service before a key is sent to it. This protects against a wrong address, such as another
// program on the port; a host that imitates the service passes.
import { Effect } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { identification } from "../../api/SystemApi.ts"
import { CommandFailed, exitCodes } from "./CommandFailed.ts"
import * as Unreachable from "./Unreachable.ts"

/** One request without a key. A redirect is not followed, because the key would be sent to the host that redirects. */
export const check = Effect.fnUntraced(function* (baseUrl: string) {
  const { headers, status } = yield* HttpClient.get(`${baseUrl}/api/v1/health`).pipe(
    Effect.provide(FetchHttpClient.layer),
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
    Effect.mapError((error) => Unreachable.failed(baseUrl, error))
  )
  if (status === 200 && headers[identification.name] === identification.value) return
  return yield* new CommandFailed({
    message:
      `${new URL(baseUrl).host} does not identify itself as effect-relayer ` +
      `(GET /api/v1/health: status ${status}), so that the API key was not sent to it: check --server or RELAYER_URL`,
    exitCode: exitCodes.refused,
    status
  })
})
