/** Files of a user, for tests: in a folder that is gone when the test is over. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Scenario } from 'yaoki/sim'

/** What a module must import to have the policies that the sources run with. */
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

/** A scenario that takes no time to run, and is different for each seed. */
export const small: Scenario = {
	duration: 2_000,
	services: {
		api: {
			workers: 2,
			serviceTime: { kind: 'exponential', meanMs: 20 },
			faults: [{ kind: 'outage', fromMs: 500, toMs: 800 }],
		},
	},
	clients: { web: { to: 'api', arrivals: { kind: 'poisson', perSecond: 40 }, policy: 'careful' } },
	policies: { careful: [{ retry: { maxRetries: 3, baseDelayMs: 50 } }, { timeout: 500 }] },
}

/** The same without retries. */
export const smallWithout: Scenario = { ...small, policies: { careful: [{ timeout: 500 }] } }

/** Two of them side by side. */
export const pair = {
	title: 'Two ways',
	description: 'With retries and without.',
	replications: 3,
	variants: { retries: small, none: smallWithout },
}

/** Quick at first, and from 30 % of its time on so busy that it takes long. */
export const endless: Scenario = {
	duration: 100_000,
	maxEvents: 1e12,
	services: { api: { workers: 1e9, serviceTime: 1 } },
	clients: {
		few: { to: 'api', arrivals: { kind: 'constant', perSecond: 10 } },
		storm: { to: 'api', arrivals: { kind: 'constant', perSecond: 2e5, fromMs: 30_000 } },
	},
}

/** A module whose default export is `small` with a policy that is made by this code. */
export const withPolicy = (code: string): string =>
	`export default { ...${JSON.stringify(small)}, policies: { careful: ${code} } }\n`
