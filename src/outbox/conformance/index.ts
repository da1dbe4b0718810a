/**
 * The definition of a store, as cases that can be run. The stores of this package pass them all, and a store of your own is one when it
 * does: types say what a call looks like, and only cases say what it means.
 */
import type { ConformanceCase, OpenedStore } from './conformance-case.ts'
import { ahead } from './subjects/ahead.ts'
import { claiming } from './subjects/claiming.ts'
import { deadLetters } from './subjects/dead-letters.ts'
import { discarding } from './subjects/discarding.ts'
import { duplicates } from './subjects/duplicates.ts'
import { filters } from './subjects/filters.ts'
import { gateChanges } from './subjects/gate-changes.ts'
import { gates } from './subjects/gates.ts'
import { history } from './subjects/history.ts'
import { inserting } from './subjects/inserting.ts'
import { keys } from './subjects/keys.ts'
import { leases } from './subjects/leases.ts'
import { listing } from './subjects/listing.ts'
import { migrating, withoutTables } from './subjects/migrating.ts'
import { oddErrors } from './subjects/odd-errors.ts'
import { oddTexts } from './subjects/odd-texts.ts'
import { order } from './subjects/order.ts'
import { places } from './subjects/places.ts'
import { rates } from './subjects/rates.ts'
import { relays } from './subjects/relays.ts'
import { repeats } from './subjects/repeats.ts'
import { replaying } from './subjects/replaying.ts'
import { retryingNow } from './subjects/retrying-now.ts'
import { schedule } from './subjects/schedule.ts'
import { settling } from './subjects/settling.ts'
import { stats } from './subjects/stats.ts'
import { stuckKeys } from './subjects/stuck-keys.ts'
import { suspects } from './subjects/suspects.ts'
import { waking } from './subjects/waking.ts'
import { type Subject, Trial } from './trial.ts'

export type { ConformanceCase, OpenedStore } from './conformance-case.ts'

const SUBJECTS: Readonly<Record<string, Subject>> = {
	inserting,
	duplicates,
	claiming,
	leases,
	suspects,
	settling,
	repeats,
	order,
	keys,
	'stuck keys': stuckKeys,
	ahead,
	gates,
	'gate changes': gateChanges,
	rates,
	places,
	relays,
	schedule,
	'dead letters': deadLetters,
	replaying,
	discarding,
	'retrying now': retryingNow,
	listing,
	filters,
	stats,
	history,
	waking,
	'odd texts': oddTexts,
	'odd errors': oddErrors,
}

const casesOf = (
	title: string,
	subject: Subject,
	open: () => Promise<OpenedStore>,
	isMigrated: boolean,
): ConformanceCase[] =>
	Object.entries(subject).map(([promise, check]) => ({
		name: `${title}: ${promise}`,
		run: async () => {
			const trial = new Trial(await open())
			try {
				if (isMigrated) await trial.store.migrate()
				await check(trial)
			} finally {
				await trial.close()
			}
		},
	}))

/**
 * Every promise of a store, each as a case that opens a store, checks and closes it.
 *
 * @example
 * for (const { name, run } of storeConformance(openMyStore)) test(name, run)
 */
export const storeConformance = (open: () => Promise<OpenedStore>): readonly ConformanceCase[] => [
	...casesOf('migrating', { ...migrating, ...withoutTables }, open, false),
	...Object.entries(SUBJECTS).flatMap(([title, subject]) => casesOf(title, subject, open, true)),
]
