/** The names that cases of a study have: those of its variants, or of a map's panels. */
import { isGrid, type Study } from '../../sim/run/study.ts'
import { unknownName } from '../parse-arguments.ts'

export const namesOf = (study: Study): readonly string[] =>
	isGrid(study) ? study.panels : Object.keys(study.variants)

/** Refuses a name that is not there, and tells those that are. */
export function checkName(option: string, name: string, study: Study): void {
	const names = namesOf(study)
	if (names.includes(name)) return
	throw unknownName(option, name, names)
}
