package mapping

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"yquota.io/kubernetes/settings"
)

// Facts are what a pod itself does not have.
type Facts struct {
	NamespaceLabels      map[string]string
	NamespaceAnnotations map[string]string
	Application          Application
}

// A rule is a compiled settings.Rule.
type rule struct {
	parts   []part
	match   *regexp.Regexp
	replace string
}

// A part of a value is a literal text or a source.
type part struct {
	literal string
	source  func(*corev1.Pod, *Facts) string
}

var placeholder = regexp.MustCompile(`\{([^{}]*)\}`)

// sources without an argument
var plainSources = map[string]func(*corev1.Pod, *Facts) string{
	"namespace":       func(p *corev1.Pod, _ *Facts) string { return p.Namespace },
	"name":            func(p *corev1.Pod, _ *Facts) string { return p.Name },
	"service-account": func(p *corev1.Pod, _ *Facts) string { return p.Spec.ServiceAccountName },
	"priority-class":  func(p *corev1.Pod, _ *Facts) string { return p.Spec.PriorityClassName },
	"owner-kind":      func(_ *corev1.Pod, f *Facts) string { return f.Application.Kind },
	"owner-name":      func(_ *corev1.Pod, f *Facts) string { return f.Application.Name },
}

// sources whose argument is a key
var keyedSources = map[string]func(*corev1.Pod, *Facts) map[string]string{
	"label":                func(p *corev1.Pod, _ *Facts) map[string]string { return p.Labels },
	"annotation":           func(p *corev1.Pod, _ *Facts) map[string]string { return p.Annotations },
	"namespace-label":      func(_ *corev1.Pod, f *Facts) map[string]string { return f.NamespaceLabels },
	"namespace-annotation": func(_ *corev1.Pod, f *Facts) map[string]string { return f.NamespaceAnnotations },
}

func sourceOf(text string) (func(*corev1.Pod, *Facts) string, error) {
	if source := plainSources[text]; source != nil {
		return source, nil
	}
	name, key, _ := strings.Cut(text, ":")
	source := keyedSources[name]
	if source == nil || key == "" {
		return nil, fmt.Errorf("there is no source {%s}", text)
	}
	return func(p *corev1.Pod, f *Facts) string { return source(p, f)[key] }, nil
}

func compileRule(given settings.Rule) (rule, error) {
	var r rule
	end := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(given.Value, -1) {
		source, err := sourceOf(given.Value[at[2]:at[3]])
		if err != nil {
			return r, err
		}
		r.parts = append(r.parts, part{literal: given.Value[end:at[0]]}, part{source: source})
		end = at[1]
	}
	r.parts = append(r.parts, part{literal: given.Value[end:]})
	if given.Match == "" {
		if given.Replace != "" {
			return r, fmt.Errorf("the rule %q has replace, but no match", given.Value)
		}
		return r, nil
	}
	match, err := regexp.Compile("^(?:" + given.Match + ")$")
	if err != nil {
		return r, err
	}
	r.match = match
	r.replace = given.Replace
	if r.replace == "" {
		r.replace = "$0"
	}
	return r, nil
}

func compileRules(name string, given []settings.Rule) ([]rule, error) {
	rules := make([]rule, len(given))
	for i := range given {
		var err error
		if rules[i], err = compileRule(given[i]); err != nil {
			return nil, fmt.Errorf("mapping.%s: %w", name, err)
		}
	}
	return rules, nil
}

// text returns the text of the rule, or an empty text if the rule gives none.
func (r *rule) text(pod *corev1.Pod, facts *Facts) string {
	var text strings.Builder
	for _, part := range r.parts {
		if part.source == nil {
			text.WriteString(part.literal)
			continue
		}
		value := part.source(pod, facts)
		if value == "" {
			return ""
		}
		text.WriteString(value)
	}
	if r.match == nil {
		return text.String()
	}
	found := r.match.FindStringSubmatchIndex(text.String())
	if found == nil {
		return ""
	}
	return string(r.match.ExpandString(nil, r.replace, text.String(), found))
}

func firstText(rules []rule, pod *corev1.Pod, facts *Facts) string {
	for i := range rules {
		if text := rules[i].text(pod, facts); text != "" {
			return text
		}
	}
	return ""
}
