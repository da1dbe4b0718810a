/** Placeholder of the live half: nothing is observed yet. */
import type { Observable } from '../../core/observe/observation.ts'
import type { LivePart, PartSettings } from '../parts.ts'

export const createLive = (
	_things: Readonly<Record<string, Observable>>,
	_settings: PartSettings,
): LivePart => ({
	overview: () => ({ circuits: [], retries: [], limits: [], failedCalls: 0, problems: [] }),
	calls: () => ({ calls: [], forgotten: 0, sources: [], reasons: [], hasMore: false }),
	run: () => ({ changed: 0, job: null, command: null }),
	close: () => undefined,
})
