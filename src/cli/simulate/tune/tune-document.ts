/** The result of `--tune` as data, for `--json`: what `tune` returns, with estimates instead of every run. */
import type { Replications } from '../../../sim/measure/replications.ts'
import { policyToTypeScript } from '../../../sim/scenario/source.ts'
import type { TuneOutput } from './tune-text.ts'

export function toDocument({ result, isInterrupted, scenario: _, incident, ...search }: TuneOutput): object {
	const { before, after, nearest, policy: _first, policies, ...found } = result
	const sources = Object.entries(policies).map(([name, layers]) => [name, policyToTypeScript(layers)])
	return {
		...search,
		...found,
		policies,
		typescript: Object.fromEntries(sources),
		before: estimates(before),
		...(after && { after: estimates(after) }),
		...(nearest && { nearest: { ...nearest, after: nearest.after && estimates(nearest.after) } }),
		...(incident && { incident: incident.data }),
		...(isInterrupted && { interrupted: { steps: result.steps.length } }),
	}
}

const estimates = ({ runs: _, ...summary }: Replications): object => summary
