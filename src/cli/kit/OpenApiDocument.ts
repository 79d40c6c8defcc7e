// The document of `openapi`, loaded where it is asked for.
import { OpenApi } from "effect/http-api"
import { Api } from "../../api/Api.ts"

export const document = (): string => JSON.stringify(OpenApi.fromApi(Api), null, 2)
