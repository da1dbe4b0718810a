/**
 * What an incident would have been with other policies: the same calls and the same faults, and a few policies side by side, or
 * the one that is asked about. The few are made of defaults, for the first question is which kind of policy would have helped;
 * with which settings is the second.
 */
import { basename } from 'node:path'
import { invalidOption } from '../../core/options/schema.ts'
import { EventLoop } from '../../sim/kernel/event-loop.ts'
import type { VariantStudy } from '../../sim/run/study.ts'
import { buildPolicy, type PolicyLayer } from '../../sim/scenario/layers.ts'
import type { PolicyModel, Scenario } from '../../sim/scenario/scenario.ts'
import { loadFile } from './load-file.ts'
import { toldOf } from './told.ts'

/** An incident to be replayed, as data that can be posted to a thread. */
export interface Replay {
	/** As `scenarioFromIncident` gives it: its policy is called `replay`, and empty. */
	readonly scenario: Scenario
	/** How long an attempt may take with the policies that are shown by default. */
	readonly timeoutMs: number
	/** The file of the policy that is asked about. */
	readonly policy: string | undefined
}

/** Fewer than a study has: an incident is long, and of its chance most is in the arrivals, which are what they were. */
const REPLICATIONS = 5

export async function replayStudy({ scenario, timeoutMs, policy }: Replay): Promise<VariantStudy> {
	const policies: Readonly<Record<string, PolicyModel>> = {
		'no policy': [],
		...(policy === undefined ? usual(timeoutMs) : { [basename(policy)]: await loadPolicy(policy) }),
	}
	return {
		title: `What if: ${scenario.name ?? 'incident'}`,
		description:
			'The calls that came and the faults that there were, with other policies.' +
			(policy === undefined ? ` They have default settings, and a timeout of ${timeoutMs} ms.` : ''),
		replications: REPLICATIONS,
		measures: ['goodShare', 'amplification', 'wastedShare', 'recoveredAfterMs', 'p99Ms'],
		chart: 'responses',
		variants: Object.fromEntries(
			Object.entries(policies).map(([name, replay]) => [name, { ...scenario, policies: { replay } }]),
		),
	}
}

function usual(timeoutMs: number): Readonly<Record<string, readonly PolicyLayer[]>> {
	const timeout: PolicyLayer = { timeout: timeoutMs }
	return {
		retry: [{ retry: {} }, timeout],
		'retry and budget': [{ retry: { budget: {} } }, timeout],
		'retry and breaker': [{ circuitBreaker: {} }, { retry: {} }, timeout],
	}
}

async function loadPolicy(file: string): Promise<PolicyModel> {
	const given = await loadFile(file)
	return toldOf(file, '', () => {
		if (!isPolicy(given))
			invalidOption('policy', given, 'a list of layers, or a function that makes a policy')
		// Validates the layers. A function runs later, where it can be interrupted.
		const loop = new EventLoop(1, 1)
		if (typeof given !== 'function') buildPolicy(given, { loop, runtime: loop.runtime('check'), path: '' })
		return given
	})
}

/** What is in the list is looked at when the policy is made. */
const isPolicy = (given: unknown): given is PolicyModel => Array.isArray(given) || typeof given === 'function'
