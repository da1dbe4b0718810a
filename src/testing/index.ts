/** `yaoki/testing`: virtual time, seeded chance, policies without waits, and faults on purpose. */
export { type FaultOptions, Faults, faults } from './faults.ts'
export type { CallbackWork, Done } from './run.ts'
export { seededRandom } from './seeded-random.ts'
export { type VirtualRuntime, type VirtualRuntimeOptions, virtualRuntime } from './virtual-runtime.ts'
export { withoutWaiting } from './without-waiting.ts'
