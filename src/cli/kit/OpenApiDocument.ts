// The OpenAPI document. It is loaded only when a command needs it.
import { OpenApi } from "effect/http-api"
import { Api } from "../../api/Api.ts"

export const document = (): string => JSON.stringify(OpenApi.fromApi(Api), null, 2)
