/** Files of a user in a temporary folder that is removed after the test. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Scenario } from 'yaoki/sim'

/** The URL from which a module of a test imports the policies of the sources. */
export const CORE: string = new URL('../../../src/core/index.ts', import.meta.url).href

export class Folder {
	readonly path: string = mkdtempSync(join(tmpdir(), 'yaoki-simulate-'))

	constructor() {
		onTestFinished(() => rmSync(this.path, { recursive: true, force: true }))
	}

	at(name: string): string {
		return join(this.path, name)
	}

	write(name: string, content: string | object): string {
		writeFileSync(this.at(name), typeof content === 'string' ? content : JSON.stringify(content))
		return this.at(name)
	}
}

/** A fast scenario with a different result for each seed. */
export const small: Scenario = {
	durationMs: 2_000,
	services: {
		api: {
			workers: 2,
			serviceTimeMs: { kind: 'exponential', meanMs: 20 },
			faults: [{ kind: 'outage', fromMs: 500, toMs: 800 }],
		},
	},
	clients: { web: { to: 'api', arrivals: { kind: 'poisson', perSecond: 40 }, policy: 'careful' } },
	policies: { careful: [{ retry: { maxRetries: 3, baseDelayMs: 50 } }, { timeoutMs: 500 }] },
}

/** The same without retries. */
export const smallWithout: Scenario = { ...small, policies: { careful: [{ timeoutMs: 500 }] } }

/** Two variants. */
export const pair = {
	title: 'Two ways',
	description: 'With retries and without.',
	replications: 3,
	variants: { retries: small, none: smallWithout },
}

/** Fast at first, and very slow from 30 % of its duration on. */
export const endless: Scenario = {
	durationMs: 100_000,
	maxEvents: 1e12,
	services: { api: { workers: 1e9, serviceTimeMs: 1 } },
	clients: {
		few: { to: 'api', arrivals: { kind: 'constant', perSecond: 10 } },
		storm: { to: 'api', arrivals: { kind: 'constant', perSecond: 2e5, fromMs: 30_000 } },
	},
}

/** Returns a module whose default export is `small` with the given policy code. */
export const withPolicy = (code: string): string =>
	`export default { ...${JSON.stringify(small)}, policies: { careful: ${code} } }\n`
