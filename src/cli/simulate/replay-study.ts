/**
 * Replays an incident with other policies: the same calls and the same faults, with a few typical policies or
 * with the one that the user asks about. The typical policies use defaults: first the user needs to know
 * which kind of policy helps, then which settings.
 */
import { basename } from 'node:path'
import { invalidOption } from '../../core/options/schema.ts'
import { DEFAULT_REPLAY_REPLICATIONS } from '../../sim/incident/replay.ts'
import { EventLoop } from '../../sim/kernel/event-loop.ts'
import type { VariantStudy } from '../../sim/run/study.ts'
import { buildPolicy, type PolicyLayer, type PolicyModel } from '../../sim/scenario/layers.ts'
import type { Scenario } from '../../sim/scenario/scenario.ts'
import { loadFile, withFileContext } from '../user-modules.ts'
import { alternativeName } from './replay-ranges.ts'

/** An incident as data that can be posted to a thread. */
export interface IncidentReplay {
	/** The result of `scenarioFromIncident`, whose policy `replay` is empty. */
	readonly scenario: Scenario
	/** Other scenarios that the events allow. */
	readonly alternatives: readonly Scenario[]
	/** Timeout of an attempt in the typical policies. */
	readonly timeoutMs: number
	/** File with the policy to try; undefined for the typical policies. */
	readonly policy: string | undefined
}

export async function replayStudy(given: IncidentReplay): Promise<VariantStudy> {
	const { scenario, alternatives, timeoutMs, policy } = given
	const policies: Readonly<Record<string, PolicyModel>> = {
		'no policy': [],
		...(policy === undefined ? typicalPolicies(timeoutMs) : { [basename(policy)]: await loadPolicy(policy) }),
	}
	return {
		title: `What if: ${scenario.name ?? 'incident'}`,
		description:
			'The calls and faults of the incident, with other policies.' +
			(policy === undefined ? ` The policies have default settings and a timeout of ${timeoutMs} ms.` : ''),
		replications: DEFAULT_REPLAY_REPLICATIONS,
		measures: ['goodShare', 'amplification', 'wastedShare', 'recoveredAfterMs', 'p99Ms'],
		chart: 'responses',
		variants: {
			...withPolicies(policies, scenario, (name) => name),
			...Object.assign(
				{},
				...alternatives.map((other, index) =>
					withPolicies(policies, other, (name) => alternativeName(name, index)),
				),
			),
		},
	}
}

/** Returns a variant of the scenario per policy. */
const withPolicies = (
	policies: Readonly<Record<string, PolicyModel>>,
	scenario: Scenario,
	nameOf: (policy: string) => string,
): VariantStudy['variants'] =>
	Object.fromEntries(
		Object.entries(policies).map(([name, replay]) => [nameOf(name), { ...scenario, policies: { replay } }]),
	)

function typicalPolicies(timeoutMs: number): Readonly<Record<string, readonly PolicyLayer[]>> {
	const timeout: PolicyLayer = { timeoutMs }
	return {
		retry: [{ retry: {} }, timeout],
		'retry and budget': [{ retry: { budget: {} } }, timeout],
		'retry and breaker': [{ circuitBreaker: {} }, { retry: {} }, timeout],
	}
}

async function loadPolicy(file: string): Promise<PolicyModel> {
	const given = await loadFile(file)
	return withFileContext(file, '', () => {
		if (!isPolicy(given))
			invalidOption('policy', given, 'a list of layers, or a function that returns a policy')
		// Validates the layers. A function runs later, where it can be interrupted.
		const loop = new EventLoop(1, 1)
		if (typeof given !== 'function') buildPolicy(given, { loop, runtime: loop.runtime('check'), path: '' })
		return given
	})
}

const isPolicy = (given: unknown): given is PolicyModel => Array.isArray(given) || typeof given === 'function'
