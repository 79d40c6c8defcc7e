// Which methods a path answers to, for the `Allow` header of a 405.
import { FindMyWay } from "effect/http"
import { HttpApi } from "effect/http-api"
import { Api } from "../../api/Api.ts"

const router = FindMyWay.make<true>({ ignoreTrailingSlash: true })
const methods = new Set<string>()

HttpApi.reflect(Api, {
  onGroup: () => undefined,
  onEndpoint: ({ endpoint }) => {
    methods.add(endpoint.method)
    router.on(endpoint.method, endpoint.path as `/${string}`, true)
  }
})

for (const path of ["/docs", "/openapi.json"] as const) router.on("GET", path, true)

/** Empty where no endpoint has this path. */
export const allowedMethods = (url: string): ReadonlyArray<string> => {
  const allowed = [...methods].filter((method) => router.find(method, url) !== undefined)
  return allowed.includes("GET") ? [...allowed, "HEAD"].sort() : allowed
}
