// Which methods each path has, for the `Allow` header of a 405 and of a response to `OPTIONS`.
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

const documents = FindMyWay.make<true>({ ignoreTrailingSlash: true })
for (const path of ["/", "/favicon.ico", "/docs", "/openapi.json", "/openapi.yaml", "/relayers.schema.json"] as const)
  documents.on("GET", path, true)

/** Empty if no endpoint has this path. `docs`: whether the instance serves the documents. */
export const allowedMethods = (url: string, docs: boolean): ReadonlyArray<string> => {
  const routers = docs ? [router, documents] : [router]
  const allowed = [...methods].filter((method) => routers.some((routes) => routes.find(method, url) !== undefined))
  if (allowed.length === 0) return []
  return [...allowed, ...(allowed.includes("GET") ? ["HEAD"] : []), "OPTIONS"].sort()
}
