/** `yaoki/telemetry`: logs, metrics and traces of everything that emits events. Runs anywhere; what needs Node is in `yaoki/telemetry/node`. */
export type { Exporter, ServiceFacts, Source } from './observe/exporter.ts'
