/**
 * The definition of a store, as cases that can be run. The stores of this package pass them all, and a store of your own is one when it
 * does: types say what a call looks like, and only cases say what it means.
 */

import { ahead } from './cases/ahead.ts'
import { claiming } from './cases/claiming.ts'
import { deadLetters } from './cases/dead-letters.ts'
import { discarding } from './cases/discarding.ts'
import { duplicates } from './cases/duplicates.ts'
import { filters } from './cases/filters.ts'
import { gateChanges } from './cases/gate-changes.ts'
import { gates } from './cases/gates.ts'
import { history } from './cases/history.ts'
import { inserting } from './cases/inserting.ts'
import { keys } from './cases/keys.ts'
import { leases } from './cases/leases.ts'
import { listing } from './cases/listing.ts'
import { migrating, withoutTables } from './cases/migrating.ts'
import { oddErrors } from './cases/odd-errors.ts'
import { oddTexts } from './cases/odd-texts.ts'
import { order } from './cases/order.ts'
import { places } from './cases/places.ts'
import { rates } from './cases/rates.ts'
import { relays } from './cases/relays.ts'
import { repeats } from './cases/repeats.ts'
import { replaying } from './cases/replaying.ts'
import { retryingNow } from './cases/retrying-now.ts'
import { schedule } from './cases/schedule.ts'
import { settling } from './cases/settling.ts'
import { stats } from './cases/stats.ts'
import { stuckKeys } from './cases/stuck-keys.ts'
import { suspects } from './cases/suspects.ts'
import { waking } from './cases/waking.ts'
import { type CaseTable, StoreHarness } from './harness/harness.ts'
import type { ConformanceCase, StoreUnderTest } from './harness/store-under-test.ts'

export type { ConformanceCase, StoreUnderTest } from './harness/store-under-test.ts'

const SUBJECTS: Readonly<Record<string, CaseTable>> = {
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
	subject: CaseTable,
	open: () => Promise<StoreUnderTest>,
	isMigrated: boolean,
): ConformanceCase[] =>
	Object.entries(subject).map(([promise, check]) => ({
		name: `${title}: ${promise}`,
		run: async () => {
			const trial = new StoreHarness(await open())
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
export const storeConformance = (open: () => Promise<StoreUnderTest>): readonly ConformanceCase[] => [
	...casesOf('migrating', { ...migrating, ...withoutTables }, open, false),
	...Object.entries(SUBJECTS).flatMap(([title, subject]) => casesOf(title, subject, open, true)),
]
