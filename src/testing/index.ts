/** `yaoki/testing`: virtual time, seeded random numbers, policies without delays, and fault injection. */

export { type FaultsOptions, faults } from './faults.ts'
export { seededRandom } from './seeded-random.ts'
export { skipDelays } from './skip-delays.ts'
export { type VirtualRuntime, type VirtualRuntimeOptions, virtualRuntime } from './virtual-runtime.ts'
