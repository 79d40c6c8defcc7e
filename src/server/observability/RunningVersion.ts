// The version that responses and metrics show. The process adds the commit of a build that is no release.
import { Context } from "effect"
import { version } from "../../api/Version.ts"

export const RunningVersion = Context.Reference<string>("effect-relayer/server/observability/RunningVersion", {
  defaultValue: () => version
})
