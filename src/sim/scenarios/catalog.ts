/** The scenarios, each loaded on first use: running one does not load all nine. */
import type { Study } from '../run/study.ts'

/**
 * The studies that come with the package, by name. Each has a page in the documentation.
 *
 * @example
 * const study = await scenarios['herd']?.()
 */
export const scenarios: Readonly<Record<string, () => Promise<Study>>> = {
	aws: async () => (await import('./aws.ts')).aws,
	budgets: async () => (await import('./budgets.ts')).budgets,
	hedging: async () => (await import('./hedging.ts')).hedging,
	herd: async () => (await import('./herd.ts')).herd,
	layered: async () => (await import('./layered.ts')).layered,
	mail: async () => (await import('./mail.ts')).mail,
	metastable: async () => (await import('./metastable.ts')).metastable,
	'rate-limit': async () => (await import('./rate-limit.ts')).rateLimit,
	'slow-dependency': async () => (await import('./slow-dependency.ts')).slowDependency,
}
