/** The studies by name, loaded when the first is used. */
import type { Study } from '../run/study.ts'

const load = () => import('./studies.ts')

/**
 * The studies that come with the package, by name. Each has a page in the documentation.
 *
 * @example
 * const study = await scenarios['herd']?.()
 */
export const scenarios: Readonly<Record<string, () => Promise<Study>>> = {
	aws: async () => (await load()).aws,
	breakers: async () => (await load()).breakers,
	budgets: async () => (await load()).budgets,
	hedging: async () => (await load()).hedging,
	herd: async () => (await load()).herd,
	instances: async () => (await load()).instances,
	layered: async () => (await load()).layered,
	mail: async () => (await load()).mail,
	metastable: async () => (await load()).metastable,
	pause: async () => (await load()).pause,
	'rate-limit': async () => (await load()).rateLimit,
	'slow-dependency': async () => (await load()).slowDependency,
}
