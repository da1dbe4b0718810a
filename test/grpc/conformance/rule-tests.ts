/** Compares the tests of a file with the rules, so that the table in the guide names tests that exist, and no test is missing there. */
import { expect, type RunnerTask, test } from 'vitest'
import type { Rule, Section } from './rules/rule.ts'
import { SUBJECTS } from './subjects.ts'

const NAME = 'the tests of this file are those of the rules'

/** Adds a test that compares the other tests of this file with the rules of the section. */
export function expectTestsOf({ prefix, rules }: Section): void {
	test(NAME, ({ task }) => {
		expect(namesIn(task.file.tasks).toSorted()).toEqual(
			rules.flatMap((rule) => namesOf(prefix, rule)).toSorted(),
		)
	})
}

/** The same for a file whose differences of grpc-js are shown elsewhere, and that has other tests too. */
export function expectSuitesOf({ prefix, rules }: Section): void {
	test(NAME, ({ task }) => {
		const names = task.file.tasks.map(({ name }) => name).filter((name) => name.startsWith(prefix))
		expect(names.toSorted()).toEqual(rules.map(({ rule }) => prefix + rule).toSorted())
	})
}

/** Adds a test that the differences of grpc-js of these sections are shown by tests of this file. */
export function expectDifferencesOf(sections: readonly Section[]): void {
	test(NAME, ({ task }) => {
		const names = task.file.tasks
			.flatMap((suite) => ('tasks' in suite ? suite.tasks : [suite]))
			.map(({ name }) => name)
		for (const { rules } of sections)
			for (const { grpcJs } of rules)
				expect(names).toEqual(expect.arrayContaining([...sentences('grpc-js', grpcJs)]))
	})
}

function namesOf(prefix: string, { rule, grpcJs, yaoki }: Rule): readonly string[] {
	const followers = SUBJECTS.filter((subject) => !(subject === 'Yaoki' ? yaoki : grpcJs))
	const name = followers.length === SUBJECTS.length ? forBoth(prefix + rule) : prefix + rule
	return [
		...(followers.length > 0 ? [name] : []),
		...sentences('grpc-js', grpcJs),
		...sentences('Yaoki', yaoki),
	]
}

const sentences = (subject: string, differences: Rule['grpcJs'] = []): readonly string[] =>
	[differences].flat().map((difference) => `${subject} ${difference}`)

const forBoth = (name: string): string => `${name} (${SUBJECTS.join(' and ')})`

function namesIn(tasks: readonly RunnerTask[]): readonly string[] {
	return tasks
		.filter(({ name }) => name !== NAME)
		.map((task) => {
			const inner = 'tasks' in task ? task.tasks.map(({ name }) => name) : []
			return SUBJECTS.every((subject) => inner.includes(subject)) ? forBoth(task.name) : task.name
		})
}
