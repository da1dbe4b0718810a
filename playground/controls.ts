/** The controls. They are created once from the table of settings and updated when settings or language change. */
import { make, setText } from './element.ts'
import { formatValue } from './figures.ts'
import {
	type Choice,
	GROUPS,
	type GroupName,
	isUsed,
	KNOBS,
	type Knob,
	type KnobName,
	type Settings,
	type Slider,
} from './settings.ts'
import type { Words } from './words.ts'

interface Shown {
	readonly settings: Settings
	readonly words: Words
}

export type OnChange = (changes: Partial<Settings>) => void

export type Update = (shown: Shown) => void

export function addGroup(parent: Element, group: GroupName, onChange: OnChange): Update {
	const legend = make('legend')
	const field = make('fieldset', {}, legend)
	parent.append(field)
	const updates = GROUPS[group].map((name) => addKnob(field, name, KNOBS[name], onChange))
	return (shown) => {
		field.hidden = !GROUPS[group].some((name) => isUsed(name, shown.settings))
		setText(legend, shown.words.groups[group])
		for (const update of updates) update(shown)
	}
}

type LabelledName = Exclude<KnobName, 'seed'>

function addKnob(parent: Element, name: LabelledName, knob: Knob, onChange: OnChange): Update {
	const id = `knob-${name}`
	const label = make('label', { for: id })
	const row = make('div', { class: `knob ${knob.kind}` }, label)
	parent.append(row)
	const onInput = (value: unknown) => onChange({ [name]: value })
	const update = controlOf(knob, name)
	return (shown) => {
		row.hidden = !isUsed(name, shown.settings)
		setText(label, shown.words.knobs[name])
		update(shown)
	}

	function controlOf(made: Knob, of: LabelledName): Update {
		if (made.kind === 'slider') return addSlider(row, id, of, made, onInput)
		if (made.kind === 'choice') return addChoice(row, id, of, made, onInput)
		return addSwitch(row, id, of, onInput)
	}
}

function addSlider(
	row: Element,
	id: string,
	name: LabelledName,
	{ values, unit }: Slider,
	onInput: (value: number) => void,
): Update {
	const input = make('input', { id, type: 'range', min: 0, max: values.length - 1, step: 1 })
	// Hidden from screen readers, which read aria-valuetext of the slider.
	const output = make('span', { class: 'value', 'aria-hidden': 'true' })
	row.append(output, input)
	input.addEventListener('input', () => onInput(values[input.valueAsNumber] ?? 0))
	return ({ settings, words }) => {
		const value = Number(settings[name])
		const text = value === Infinity ? unlimited(words, name) : formatValue(value, unit)
		input.valueAsNumber = values.indexOf(value)
		input.style.setProperty('--share', String(values.indexOf(value) / (values.length - 1)))
		input.setAttribute('aria-valuetext', text)
		setText(output, text)
	}
}

const unlimited = ({ unlimited: texts }: Words, name: LabelledName): string =>
	Object.hasOwn(texts, name) ? texts[name as keyof typeof texts] : '∞'

function addChoice(
	row: Element,
	id: string,
	name: LabelledName,
	{ options }: Choice,
	onInput: (value: string) => void,
): Update {
	const items = options.map((value) => make('option', { value }))
	const select = make('select', { id }, ...items)
	row.append(select)
	select.addEventListener('change', () => onInput(select.value))
	return ({ settings, words }) => {
		const texts: Readonly<Record<string, string>> = words.options[name as keyof Words['options']]
		for (const item of items) setText(item, texts[item.value] ?? item.value)
		select.value = String(settings[name])
	}
}

function addSwitch(row: Element, id: string, name: LabelledName, onInput: (value: boolean) => void): Update {
	const input = make('input', { id, type: 'checkbox' })
	row.prepend(input)
	input.addEventListener('change', () => onInput(input.checked))
	return ({ settings }) => {
		input.checked = settings[name] === true
	}
}
