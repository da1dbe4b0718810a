/** `yaoki/telemetry/node`: the parts of telemetry that need Node. */
export type { Exporter } from '../observe/exporter.ts'
