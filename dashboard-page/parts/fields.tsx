/** Fields of forms, each with its label. */
import type { JSX } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'

export function Choice<Value extends string>(props: {
	label: string
	value: Value
	options: Readonly<Record<Value, string>>
	onChange(value: Value): void
}): JSX.Element {
	const { label, value, options, onChange } = props
	return (
		<label>
			<span>{label}</span>
			<select value={value} onChange={(event) => onChange(event.currentTarget.value as Value)}>
				{Object.entries<string>(options).map(([name, text]) => (
					<option key={name} value={name} selected={name === value}>
						{text}
					</option>
				))}
			</select>
		</label>
	)
}

export function Field(props: {
	label: string
	value: string
	onInput(value: string): void
	type?: 'text' | 'search' | 'number' | 'datetime-local'
	help?: string
	/** Known values. */
	options?: readonly string[]
	isSearch?: boolean
	isRequired?: boolean
	min?: number
}): JSX.Element {
	const { label, value, onInput, type = 'text', help, options = [], isSearch, isRequired } = props
	const id = useId()
	return (
		<label>
			<span>{label}</span>
			<input
				type={type}
				value={value}
				min={props.min}
				step={type === 'datetime-local' ? 1 : undefined}
				required={isRequired}
				autocomplete="off"
				spellcheck={false}
				list={options.length > 0 ? `${id}-options` : undefined}
				aria-describedby={help ? `${id}-help` : undefined}
				data-search={isSearch ? '' : undefined}
				onInput={(event) => onInput(event.currentTarget.value)}
			/>
			{options.length > 0 && (
				<datalist id={`${id}-options`}>
					{options.map((option) => (
						<option key={option} value={option} />
					))}
				</datalist>
			)}
			{help && (
				<small id={`${id}-help`} class="muted">
					{help}
				</small>
			)}
		</label>
	)
}

/** A request follows what the user types, but not every key. */
const DELAY_MS = 300

/** A field of a filter: the filter changes when the user pauses. */
export function FilterField(props: {
	label: string
	value: string
	options?: readonly string[]
	onInput(value: string): void
}): JSX.Element {
	const { value, onInput } = props
	const [typed, setTyped] = useState(value)
	useEffect(() => setTyped(value), [value])
	// The handler is a new function in each rendering.
	useEffect(() => {
		if (typed.trim() === value) return
		const timer = setTimeout(() => onInput(typed.trim()), DELAY_MS)
		return () => clearTimeout(timer)
	}, [typed])
	return <Field {...props} value={typed} onInput={setTyped} />
}
