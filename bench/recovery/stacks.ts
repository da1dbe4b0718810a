/** The stacks that are compared, with every setting that is not a default of its library. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Stack } from '../../test/shop/shop.ts'
import { YAOKI } from '../../test/shop/yaoki/stack.ts'

export interface Contender {
	readonly name: string
	readonly services: Stack
	readonly packages: readonly string[]
	readonly settings: readonly string[]
}

const at = (path: string): URL => new URL(path, import.meta.url)

const stackIn = (folder: string, hasRelay: boolean): Stack => ({
	storefront: at(`./${folder}/storefront.ts`),
	orders: at(`./${folder}/orders.ts`),
	payments: at(`./${folder}/payments.ts`),
	...(hasRelay ? { relay: at(`./${folder}/relay.ts`) } : {}),
})

export const OURS: Contender = {
	name: 'yaoki',
	services: YAOKI,
	packages: ['yaoki'],
	settings: ['all defaults; keys and a principal, which must be given'],
}

export const PEER: Contender = {
	name: 'axios-retry + cockatiel + pg-boss',
	services: stackIn('peer', true),
	packages: ['axios', 'axios-retry', 'cockatiel', 'pg-boss'],
	settings: [
		'axios: timeout 10 s (default: none)',
		'axios-retry: exponentialDelay (default: none), POST is retried too because each has a key, timeout per attempt',
		'cockatiel: ConsecutiveBreaker(5) per origin, halfOpenAfter 1 s (no defaults; its README shows 5 and 10 s)',
		'pg-boss: retryLimit 10 with retryBackoff, batchSize 100, pollingIntervalSeconds 0.5, perJobResults',
		'pg: an error handler on the client of a transaction, which the examples of pg lack: the process crashed without it',
		'keys: the primary key of the orders and payments, by hand',
	],
}

export const PLAIN: Contender = {
	name: 'plain fetch + pg',
	services: stackIn('plain', false),
	packages: [],
	settings: ['fetch: AbortSignal.timeout(10 s); no retries, no keys, no queue'],
}

const require = createRequire(import.meta.url)

/** A package may hide its package.json, so it is searched from the entry point. */
export function versionOf(name: string): string {
	for (const folder of require.resolve.paths(name) ?? []) {
		try {
			return `${name} ${JSON.parse(readFileSync(join(folder, name, 'package.json'), 'utf8')).version}`
		} catch {
			// Not in this folder.
		}
	}
	throw new Error(`${name} is not installed in ${dirname(import.meta.filename)}`)
}
