/** `yaoki/testing`: virtual time, seeded chance, policies without waits, and faults on purpose. */

export type { CallbackWork, DoneCallback } from './callback-runner.ts'
export { type FaultOptions, Faults, faults } from './faults.ts'
export { seededRandom } from './seeded-random.ts'
export { skipDelays } from './skip-delays.ts'
export { type VirtualRuntime, type VirtualRuntimeOptions, virtualRuntime } from './virtual-runtime.ts'
