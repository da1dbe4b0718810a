import type { JSX } from 'preact'
import { useShared } from '../context.ts'
import { Choice } from '../parts/fields.tsx'

/** Chooses one of several outboxes or webhook senders. Nothing if there is only one. */
export function ChooseSource(props: {
	label: string
	names: readonly string[]
	value: string
	onChange(name: string): void
}): JSX.Element | null {
	const { names } = props
	return names.length < 2 ? null : (
		<Choice
			label={props.label}
			value={props.value}
			options={Object.fromEntries(names.map((name) => [name, name]))}
			onChange={props.onChange}
		/>
	)
}

/** Returns the names of the outboxes and the one of the URL, by default the first. */
export function useOutbox(): { names: readonly string[]; outbox: string } {
	const { overview, route } = useShared()
	const names = overview.outboxes.map(({ source }) => source)
	return { names, outbox: route.filter['outbox'] ?? names[0] ?? '' }
}
